import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Signature, SigningKey, Wallet } from 'ethers'
import fc from 'fast-check'
import { privateKeyToAccount } from 'viem/accounts'
import { signQuote } from '#api/client/client.ts'
import { contract } from '#api/contract/contract.ts'
import { parseJson, stringifyJson } from '#api/contract/json.ts'
import type { Quote, TypedData } from '#api/contract/wire/fx.ts'
import { systemClock } from '#runtime/clock.ts'
import { examineSignature as examineWhole } from './check-signature.ts'
import { diagnose } from './diagnose-signature.ts'
import { hashTypedData } from './hash-typed-data.ts'
import { listSigningMistakes } from './signing-mistakes.ts'

const key = `0x${'42'.repeat(32)}` as const
const signer = privateKeyToAccount(key)
const nowMs = Date.parse('2026-11-15T10:00:10.000Z')

/** The example of the contract with 18-decimal amounts, which a float cannot represent. */
const example = contract['fx.createQuote'].example.reply
const { typedData: small } = example
assert.ok(small)
const quote: Quote & { typedData: TypedData } = {
  ...example,
  typedData: {
    ...small,
    message: {
      ...small.message,
      permitted: { ...small.message.permitted, amount: 1_000_654_321_000_000_000_001n },
      witness: { ...small.message.witness, fee: 184_387_000_000_000_000n },
    },
  },
}
const signDigest = (digest: Uint8Array): string => new SigningKey(key).sign(digest).serialized
const examine = (signature: string, more: object = {}) =>
  diagnose({ quote, signature, signer: signer.address, nowMs, ...more })
const fields = (signature: string, more: object = {}) => examine(signature, more).findings.map(({ field }) => field)

describe('good', () => {
  test('a signature of any library is good, has its signer and no findings', async () => {
    for (const signature of [await signQuote(quote, signer), await signQuote(quote, new Wallet(key))]) {
      const diagnosis = examine(signature)
      assert.deepEqual([diagnosis.verdict, diagnosis.signer, diagnosis.findings], ['good', signer.address, []])
      assert.deepEqual([diagnosis.deadlinePassed, diagnosis.expired], [false, false])
    }
  })

  test('the compact form is good, as for the contract', async () => {
    const { compactSerialized } = Signature.from(await signQuote(quote, signer))
    assert.equal(examine(compactSerialized).verdict, 'good')
  })

  test('without an expected signer the verdict is unknown, with the recovered signer', async () => {
    const diagnosis = examine(await signQuote(quote, signer), { signer: undefined })
    assert.deepEqual([diagnosis.verdict, diagnosis.signer, diagnosis.findings], ['unknown', signer.address, []])
  })

  test('expiry of the quote and deadline of the permit are reported separately', async () => {
    const signature = await signQuote(quote, signer)
    const at = (text: string) => {
      const { expired, deadlinePassed } = examine(signature, { nowMs: Date.parse(text) })
      return [expired, deadlinePassed]
    }
    const deadline = new Date(Number(quote.typedData.message.deadline) * 1000)
    assert.deepEqual(at('2026-11-15T10:00:29.999Z'), [false, false])
    assert.deepEqual(at('2026-11-15T10:00:30.000Z'), [true, false])
    assert.deepEqual(at(deadline.toISOString()), [true, false])
    assert.deepEqual(at(new Date(deadline.getTime() + 1).toISOString()), [true, true])
  })
})

describe('bad, without the signed typed data', () => {
  test('every listed mistake is recognised', () => {
    const all = listSigningMistakes(quote, quote.typedData, signer.address)
    assert.ok(all.length > 60, String(all.length))
    // All documents differ, so the first match is the right one. Only a few are checked completely.
    const digests = all.map(({ document }) => hashTypedData(document).toHex())
    assert.equal(new Set(digests).size, all.length)
    for (const { field, message, document } of all.filter((_, at) => at % 5 === 0)) {
      const diagnosis = examine(signDigest(hashTypedData(document)))
      assert.equal(diagnosis.verdict, 'bad', `${field} ${message}`)
      assert.equal(diagnosis.findings[0]?.field, field, `${field} ${message}`)
    }
  })

  test('an amount that was rounded to a float is reported with both values', () => {
    const rounded = structuredClone(quote)
    rounded.typedData.message.permitted.amount = BigInt(Number(quote.typedData.message.permitted.amount))
    assert.deepEqual(examine(signDigest(hashTypedData(rounded.typedData))).findings, [
      {
        field: 'message.permitted.amount',
        message: 'is a different amount',
        expected: '1000654321000000000001',
        found: '1000654320999999995904',
      },
    ])
  })

  test('a digest signed with the wrong method is recognised', async () => {
    const digest = hashTypedData(quote.typedData)
    assert.deepEqual(fields(await signer.signMessage({ message: { raw: digest } })), ['method'])
    assert.deepEqual(fields(await signer.signMessage({ message: `0x${digest.toHex()}` })), ['method'])
  })

  test('bytes that the contract refuses are reported: parity as v, wrong v, wrong length, no bytes', async () => {
    const good = await signQuote(quote, signer)
    const v = Number.parseInt(good.slice(-2), 16)
    const parity = `${good.slice(0, -2)}0${v - 27}`
    const diagnosis = examine(parity)
    assert.deepEqual(
      [diagnosis.verdict, diagnosis.signer, diagnosis.findings[0]?.expected],
      ['bad', signer.address, String(v)],
    )
    assert.deepEqual(fields(`${good.slice(0, -2)}${(v === 27 ? 28 : 27).toString(16)}`), ['signature.v'])
    assert.deepEqual(fields(`${good.slice(0, -2)}ff`), ['signature.v'])
    assert.deepEqual(fields(good.slice(0, -4)), ['signature'])
    assert.deepEqual(fields('0x'), ['signature'])
    assert.deepEqual(fields('nonsense'), ['signature'])
    assert.deepEqual(fields(`0x${'00'.repeat(64)}1b`), ['signature'])
    assert.deepEqual(fields(`0x${'ff'.repeat(64)}1b`), ['signature'])
  })

  test('a different key is reported with its address', async () => {
    const other = privateKeyToAccount(`0x${'43'.repeat(32)}`)
    const diagnosis = examine(await signQuote(quote, other))
    assert.equal(diagnosis.verdict, 'bad')
    assert.deepEqual(
      diagnosis.findings.map(({ field, expected, found }) => [field, expected, found]),
      [['signer', signer.address, other.address.toLowerCase()]],
    )
  })
})

describe('bad, with the signed typed data', () => {
  test('every differing field is listed, after a round trip through JSON', async () => {
    const signed = structuredClone(quote.typedData)
    signed.domain.chainId = 424_242
    signed.message.nonce = 12_345
    signed.message.witness.consideration.baseAmount = '7'
    const signature = await signQuote({ id: quote.id, typedData: signed }, signer)
    assert.deepEqual(fields(signature), ['signer'])
    const diagnosis = examine(signature, { signed: parseJson(stringifyJson(signed)) })
    assert.deepEqual(
      diagnosis.findings.map(({ field, expected, found }) => [field, expected, found]),
      [
        ['domain.chainId', '1', '424242'],
        ['message.nonce', '4503599627370497', '12345'],
        ['message.witness.consideration.baseAmount', quote.typedData.message.witness.consideration.baseAmount, '7'],
      ],
    )
  })

  test('different types are shown as encoded type strings', async () => {
    const signed = structuredClone(quote.typedData)
    signed.types.Consideration.reverse()
    const signature = signDigest(hashTypedData(signed))
    const [finding] = examine(signature, { signed }).findings
    assert.equal(finding?.field, 'types')
    assert.match(finding?.found ?? '', /Consideration\(uint256 maturity,/)
  })

  test('a document that does not match the signature, or is not typed data, is reported as such', async () => {
    const other = privateKeyToAccount(`0x${'43'.repeat(32)}`)
    const signature = await signQuote(quote, other)
    assert.deepEqual(fields(signature, { signed: quote.typedData }), ['signer'])
    for (const signed of [{}, { message: 1 }, { types: { A: 1 } }, { domain: null, types: null, message: null }, []]) {
      const [finding] = examine(signature, { signed }).findings
      assert.ok(finding, JSON.stringify(signed))
    }
  })
})

test('a signature that is not whole bytes is refused before any node is called', async () => {
  for (const signature of ['0x123', '12', '0xgg'])
    await assert.rejects(
      examineWhole(quote, { signature }, systemClock, async () => assert.fail()),
      {
        code: 'input.invalid',
      },
    )
})

test('typed data beyond the limits is refused, whether or not it must be hashed', async () => {
  const types = { ...quote.typedData.types, A: new Array(256).fill({ name: 'a', type: 'bool' }) }
  const shown = { signature: await signQuote(quote, signer), signed: { ...quote.typedData, types } }
  for (const whom of [signer.address, `0x${'55'.repeat(20)}`])
    await assert.rejects(examineWhole(quote, { ...shown, signer: whom }, systemClock, undefined), {
      code: 'input.invalid',
      problems: [{ at: ['body', 'typedData'], message: 'must have at most 128 fields in its types', value: undefined }],
    })
})

test('cyclic lists and objects with their own toString are not written out', async () => {
  const signature = await signQuote(quote, signer)
  const endless = Array.from({ length: 50_000 }).reduce<unknown>((inner) => [inner], 1)
  const domain = { ...quote.typedData.domain, name: endless, chainId: { toString: 1, valueOf: 1 } }
  const { findings } = examine(signature, { signed: { ...quote.typedData, domain } })
  assert.deepEqual(
    findings.map(({ field, found }) => [field, found]),
    [
      ['domain.name', 'a list'],
      ['domain.chainId', 'an object'],
    ],
  )
})

test('any input gives a diagnosis and never an exception', () => {
  const hostile = fc.oneof(
    fc.jsonValue(),
    fc.record(
      {
        domain: fc.oneof(fc.jsonValue(), fc.constant(quote.typedData.domain)),
        types: fc.oneof(fc.jsonValue(), fc.constant(quote.typedData.types)),
        primaryType: fc.oneof(fc.jsonValue(), fc.constant('PermitWitnessTransferFrom')),
        message: fc.oneof(fc.jsonValue(), fc.constant(quote.typedData.message)),
      },
      { requiredKeys: [] },
    ),
  )
  const signature = fc.oneof(
    fc.string(),
    fc.uint8Array({ maxLength: 70 }).map((bytes) => `0x${bytes.toHex()}`),
    fc.uint8Array({ minLength: 64, maxLength: 64 }).map((bytes) => `0x${bytes.toHex()}1b`),
  )
  fc.assert(
    fc.property(hostile, signature, fc.boolean(), (signed, text, named) => {
      const diagnosis = examine(text, { signed, ...(named ? {} : { signer: undefined }) })
      assert.notEqual(diagnosis.verdict, 'good')
      assert.ok(diagnosis.verdict === 'unknown' || diagnosis.findings.length > 0)
    }),
    { numRuns: 60 },
  )
})
