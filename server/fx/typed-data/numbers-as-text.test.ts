import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { hashTypedData as viemHash } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { signQuote } from '#api/client/client.ts'
import { signable } from '#api/client/signable.ts'
import { parseJson, stringifyJson } from '#api/contract/json.ts'
import { openapi } from '#api/contract/openapi.ts'
import type { Quote, TypedData } from '#api/contract/wire/fx.ts'
import { withNumbersAsText } from '#api/contract/with-numbers-as-text.ts'
import { openContext, settingsWith, type TestContext, testRequestInfo } from '#test/context.ts'
import { createQuote } from '../endpoints/create-quote.ts'
import { quote as readQuote } from '../extensions/lists/quote.ts'
import { checkSignature } from '../extensions/signature-check/check-signature.ts'
import { hashTypedData } from '../extensions/signature-check/hash-typed-data.ts'
import type { QuoteInput } from '../pricing/quote-input.ts'
import { storeRates } from '../rates/rate-store.ts'

const taker = privateKeyToAccount(`0x${'42'.repeat(32)}`)
const header = 'x-tetrad-large-integers'

/** A token with 18 decimals, so that amounts exceed 2^53. */
const fxOf = (changes: object) => ({
  spender: `0x${'33'.repeat(20)}`,
  sources: [{ id: 'a', kind: 'push' }],
  tokens: ['USDX/USD', 'EURX/EUR'].map((text) => ({
    ...{ code: text.slice(0, 4), tracks: text.slice(5), decimals: 18, contract: `0x${'44'.repeat(20)}` },
  })),
  ...changes,
})

async function openDesk(changes: object = {}): Promise<TestContext> {
  const context = await openContext({ fx: fxOf(changes) })
  const atMs = context.clock.now()
  await storeRates(context.state, 'a', [{ source: 'a', base: 'EUR', quote: 'USD', rate: '1.25', atMs }], atMs)
  return context
}
const withSettings = (context: TestContext, changes: object) => ({
  ...context,
  settings: settingsWith({ fx: fxOf(changes) }),
})

async function request(context: TestContext, changes: Partial<QuoteInput> = {}) {
  const input: QuoteInput = {
    ...{ from: { currency: 'USDX', amount: '1000.123456' }, to: { currency: 'EURX' } },
    ...{ tenor: 'instant', type: 'tradable', recipientAddress: `0x${'11'.repeat(20)}` },
    ...changes,
  }
  const outcome = await createQuote.handle(input, context, testRequestInfo())
  assert.ok(outcome.is === 'bytes')
  const text = new TextDecoder().decode(outcome.bytes)
  const quote = parseJson(text) as Quote & { readonly typedData: TypedData }
  return { text, bytes: outcome.bytes, quote, headers: outcome.headers ?? {} }
}

const numbersOf = ({ message }: TypedData) => [
  ...[message.permitted.amount, message.nonce, message.deadline, message.witness.fee],
]

describe('numbers of typed data as text', () => {
  test('the four numbers are decimal text that JSON.parse keeps, and the digest is that of the integers', async () => {
    await using context = await openDesk({ numbersAsText: true })
    const { text, quote, headers } = await request(context)
    assert.deepEqual(
      numbersOf(quote.typedData).map((value) => typeof value),
      ['string', 'string', 'string', 'string'],
    )
    assert.equal(quote.typedData.message.permitted.amount, '1000123456000000000000')
    assert.deepEqual(JSON.parse(text), quote)
    assert.deepEqual(headers, {})
    const { message } = quote.typedData
    const integers = {
      ...message,
      permitted: { ...message.permitted, amount: BigInt(message.permitted.amount) },
      ...{ nonce: BigInt(message.nonce), deadline: BigInt(message.deadline) },
      witness: { ...message.witness, fee: BigInt(message.witness.fee) },
    }
    const digest = hashTypedData({ ...quote.typedData, message: integers }).toHex()
    assert.equal(hashTypedData(quote.typedData).toHex(), digest)
    assert.equal(viemHash(signable(quote.typedData) as never), `0x${digest}`)
  })

  test('the default is integers, and a header names those that JSON.parse rounds', async () => {
    await using context = await openDesk()
    const large = await request(context)
    assert.deepEqual(
      numbersOf(large.quote.typedData).map((value) => typeof value),
      ['bigint', 'number', 'number', 'bigint'],
    )
    const both = 'typedData.message.permitted.amount,typedData.message.witness.fee'
    assert.deepEqual(large.headers, { [header]: both })
    assert.notDeepEqual(JSON.parse(large.text), large.quote)
    const read = await readQuote.handle({ id: large.quote.id }, context, testRequestInfo())
    assert.deepEqual(read.is === 'bytes' && read.headers, { [header]: both })
    // 0.009 × 10^18 is below 2^53, and its fee too.
    await using small = await openDesk({ limits: { min: '0.001' } })
    const { headers } = await request(small, { from: { currency: 'USDX', amount: '0.009' } })
    assert.deepEqual(headers, {})
    assert.deepEqual((await request(context, { type: 'reference' })).headers, {})
  })

  test('a replay returns the stored bytes and their header, whatever the setting is now', async () => {
    await using context = await openDesk()
    const text = withSettings(context, { numbersAsText: true })
    for (const [first, second] of [
      [context, text],
      [text, context],
    ] as const) {
      const idempotencyKey = `key-${first === context}`
      const made = await request(first, { idempotencyKey })
      const replayed = await request(second, { idempotencyKey })
      assert.deepEqual(replayed.bytes, made.bytes)
      assert.deepEqual(replayed.headers, made.headers)
    }
  })

  test('a signature check accepts both forms of the quote and of the signed typed data', async () => {
    await using context = await openDesk()
    for (const desk of [context, withSettings(context, { numbersAsText: true })]) {
      const { quote } = await request(desk)
      const signature = await signQuote(quote, taker)
      const forms = [quote.typedData, (withNumbersAsText(quote) as typeof quote).typedData]
      for (const typedData of forms) {
        const input = { id: quote.id, signature, signer: taker.address, typedData: parseJson(stringifyJson(typedData)) }
        const outcome = await checkSignature.handle(input as never, desk, testRequestInfo())
        assert.ok(outcome.is === 'body')
        assert.deepEqual([outcome.body.verdict, outcome.body.findings], ['good', []])
        const wrong = { ...typedData, message: { ...typedData.message, nonce: '7' } }
        const wrongSignature = await signQuote({ id: quote.id, typedData: wrong }, taker)
        const found = await checkSignature.handle(
          { ...input, signature: wrongSignature, typedData: wrong } as never,
          desk,
          testRequestInfo(),
        )
        assert.deepEqual(found.is === 'body' && [found.body.verdict, found.body.findings.map(({ field }) => field)], [
          'bad',
          ['message.nonce'],
        ])
      }
    }
  })

  test('the OpenAPI document has the form of the setting, in schemas and examples', () => {
    const formOf = (numbersAsText: boolean) => {
      const text = JSON.stringify(openapi({ numbersAsText }))
      const document = JSON.parse(text) as Record<string, never>
      type Node = { readonly properties: Record<string, Node>; readonly type: string; readonly pattern?: string }
      const { schemas } = document.components as unknown as { readonly schemas: Record<string, Node> }
      const message = schemas.TypedData?.properties.message?.properties
      const fields = [
        ...[message?.permitted?.properties.amount, message?.nonce, message?.deadline],
        message?.witness?.properties.fee,
      ]
      return {
        types: fields.map((field) => field?.type),
        patterns: fields.map((field) => field?.pattern),
        hasTextExample: text.includes('"deadline":"1794738600"'),
        hasIntegerExample: text.includes('"deadline":1794738600'),
      }
    }
    const four = <T>(value: T) => [value, value, value, value]
    assert.deepEqual(formOf(true), {
      ...{ types: four('string'), patterns: four('^\\d+$'), hasTextExample: true, hasIntegerExample: false },
    })
    assert.deepEqual(formOf(false), {
      ...{ types: four('integer'), patterns: four(undefined), hasTextExample: false, hasIntegerExample: true },
    })
  })
})
