import { strict as assert } from 'node:assert'
import { createHash } from 'node:crypto'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import {
  digestOf,
  keyText,
  sameDigest,
  secretBytes,
  splitKey,
  toKeyId,
  toSecret,
  unknownKeyDigest,
  withoutKeys,
} from './key.ts'

const secret = toSecret(new Uint8Array(secretBytes).fill(251))
const key = { id: '00ff00ff00ff00ff', secret }

test('a key is created, split and joined again', () => {
  assert.equal(toKeyId(Uint8Array.of(0, 255, 16)), '00ff10')
  assert.equal(secret, `${'-_v7'.repeat(10)}-_s`)
  assert.deepEqual(splitKey(keyText(key)), key)
})

test('text of another form is not a key', () => {
  const text = keyText(key)
  const texts = [
    '',
    'tetrad',
    'tetrad::',
    'YourApiKeyToken',
    `other:${key.id}:${secret}`,
    `TETRAD:${key.id}:${secret}`,
    `${text}:`,
    `${text}x`,
    text.slice(0, -1),
    `tetrad::${secret}`,
    `tetrad:a b:${secret}`,
    `tetrad:${'a'.repeat(65)}:${secret}`,
    `tetrad:${key.id}:${secret.slice(1)}+`,
    ` ${text}`,
    `${text}\n`,
    `tetrad:${key.id}`,
    'tetrad:'.repeat(100_000),
  ]
  for (const text of texts) assert.equal(splitKey(text), undefined, text.slice(0, 80))
})

test('the digest is the SHA-256 of the whole key, so it is valid only for its id', () => {
  const expected = createHash('sha256').update(`tetrad:${key.id}:${secret}`).digest()
  assert.ok(sameDigest(digestOf(key), expected))
  assert.ok(!sameDigest(digestOf({ ...key, id: 'other' }), expected))
  assert.ok(!sameDigest(unknownKeyDigest, expected))
  assert.ok(!sameDigest(expected.subarray(1), expected))
})

describe('the secret of a key in a text is removed', () => {
  const text = keyText(key)
  const cut = `tetrad:${key.id}:…`
  const coded = (part: string) => part.replaceAll(/./g, (sign) => `%${sign.charCodeAt(0).toString(16)}`)
  const cases: readonly (readonly [name: string, written: string, shown: string])[] = [
    ['as it is', `/a/${text}/b`, `/a/${cut}/b`],
    ['with its colons as codes', `/a/${text.replaceAll(':', '%3A')}/b`, `/a/${cut}/b`],
    ['with a letter as its code', `/a/${text.replace('t', '%74')}/b`, `/a/${cut}/b`],
    ['with a letter in capitals as its code', `/a/${text.replace('t', '%54')}`, `/a/Tetrad:${key.id}:…`],
    ['with a letter of the secret as its code', `/a/${text.replace('v', '%76')}`, `/a/${cut}`],
    ['all in codes', `/a/${coded(text)}/b`, `/a/${cut}/b`],
    ['in codes of codes', `/a/${coded(coded(text))}/b`, `/a/${cut}/b`],
    ['in codes of codes of codes', `/a/${text.replace('e', '%252565')}/b`, `/a/${cut}/b`],
    ['next to an invalid escape', `/a/%zz${text.replace('e', '%65')}%`, `/a/${cut}`],
    ['next to bytes that are not UTF-8', `/a/${coded(text)}%ff%fe`, `/a/${cut}`],
    ['next to a quote, which would end a log line', `"path":"/a/%22${coded(text)}"`, `"path":"/a/${cut}"`],
    ['twice', `${coded(text)}%20${coded(text)}`, `${cut} ${cut}`],
    ['not at all', '/a/te%74rad%3a', '/a/te%74rad%3a'],
    ['not at all, in codes', '100 %, 50%25 and %E2%82%AC', '100 %, 50%25 and %E2%82%AC'],
  ]
  for (const [name, written, shown] of cases) test(name, () => assert.equal(withoutKeys(written), shown))

  test('in any percent-encoding', () => {
    const depths = fc.array(fc.integer({ min: 0, max: 4 }), { minLength: text.length, maxLength: text.length })
    fc.assert(
      fc.property(depths, fc.string(), fc.string(), (wanted, before, after) => {
        const written = [...text].map((sign, at) => deep(sign, wanted[at] ?? 0)).join('')
        const shown = withoutKeys(`${before}/${written}/${after}`)
        assert.ok(!shown.includes(written) && !shown.includes(secret), shown)
      }),
    )
  })

  function deep(sign: string, times: number): string {
    let written = sign
    for (let time = 0; time < times; time++) written = time === 0 ? coded(written) : written.replaceAll('%', '%25')
    return written
  }
})

test('the secret of a webhook in a text is removed', () => {
  assert.equal(withoutKeys('{"secret":"whsec_abc+/DEF="}, then more'), '{"secret":"whsec_…"}, then more')
  assert.equal(withoutKeys(`/#/sign-in/link_${'a-_9'.repeat(5)}Zz now`), '/#/sign-in/link_… now')
})
