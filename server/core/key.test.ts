import { strict as assert } from 'node:assert'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { digestOf, keyText, nobodysDigest, sameDigest, secretBytes, splitKey, toKeyId, toSecret } from './key.ts'

const secret = toSecret(new Uint8Array(secretBytes).fill(251))
const key = { id: '00ff00ff00ff00ff', secret }

test('a key is made, split and put together again', () => {
  assert.equal(toKeyId(Uint8Array.of(0, 255, 16)), '00ff10')
  assert.equal(secret, `${'-_v7'.repeat(10)}-_s`)
  assert.deepEqual(splitKey(keyText(key)), key)
})

test('whatever has another form is no key', () => {
  const text = keyText(key)
  const strangers = [
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
  for (const stranger of strangers) assert.equal(splitKey(stranger), undefined, stranger.slice(0, 80))
})

test('the digest is the SHA-256 of the whole key, so it holds under its own id only', () => {
  const expected = createHash('sha256').update(`tetrad:${key.id}:${secret}`).digest()
  assert.ok(sameDigest(digestOf(key), expected))
  assert.ok(!sameDigest(digestOf({ ...key, id: 'other' }), expected))
  assert.ok(!sameDigest(nobodysDigest, expected))
  assert.ok(!sameDigest(expected.subarray(1), expected))
})
