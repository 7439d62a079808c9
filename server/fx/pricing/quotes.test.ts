// Idempotency keys (behaviour/fx.md#idempotency-keys), from the endpoint to the store.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Fault } from '#core/fault.ts'
import { openContext, testNowMs, testRequestInfo } from '#test/context.ts'
import type { FxContext } from '../context.ts'
import { createQuote } from '../endpoints/create-quote.ts'
import { storeRates } from '../rates/rate-store.ts'
import type { QuoteInput } from './quote-input.ts'

const source = { id: 'a', kind: 'http-json', url: 'https://rates.example/', staleMs: 60_000 }
const keyed: QuoteInput = {
  from: { currency: 'USDC', amount: '1000.00' },
  to: { currency: 'EURC' },
  tenor: 'instant',
  type: 'tradable',
  recipientAddress: '0x1111111111111111111111111111111111111111',
  idempotencyKey: 'order-7',
}

async function openPricedContext() {
  const context = await openContext({
    fx: { spender: '0x3333333333333333333333333333333333333333', sources: [source] },
  })
  await storeRate(context, '1.25', testNowMs)
  return context
}

const storeRate = (context: FxContext, rate: string, atMs: number) =>
  storeRates(context.state, 'a', [{ source: 'a', base: 'EUR', quote: 'USD', rate, atMs }], atMs)

async function bytesOf(context: FxContext, input: QuoteInput, keyId = 'test'): Promise<string> {
  const outcome = await createQuote.handle(input, context, testRequestInfo({ caller: { keyId, plan: 'free' } }))
  assert.ok(outcome.is === 'bytes')
  return new TextDecoder().decode(outcome.bytes)
}

const refusedWith = (code: string, status: number) => (error: unknown) => {
  assert.ok(error instanceof Fault, String(error))
  assert.deepEqual([error.code, error.status], [code, status])
  return true
}

const count = async (context: FxContext, table: string) =>
  (await context.state.get<{ count: number }>(`select count(*) as count from ${table}`))?.count

test('200: the same key and body replay the first response byte for byte, even without a fresh rate', async () => {
  await using context = await openPricedContext()
  const first = await bytesOf(context, keyed)
  await storeRate(context, '1.5', testNowMs + 1000)
  context.clock.advance(2000)
  assert.equal(await bytesOf(context, keyed), first)
  context.clock.advance(86_400_000 - 2001)
  assert.equal(await bytesOf(context, keyed), first)
  assert.equal(await count(context, 'fx_quotes'), 1)
})

test('200: after 24 hours the key is free again', async () => {
  await using context = await openPricedContext()
  const first = await bytesOf(context, keyed)
  context.clock.advance(86_400_000)
  await storeRate(context, '1.25', context.clock.now())
  assert.notEqual(await bytesOf(context, keyed), first)
  assert.equal(await count(context, 'fx_idempotency'), 1)
})

test('409: the same key with another body', async () => {
  await using context = await openPricedContext()
  await bytesOf(context, keyed)
  const other = { ...keyed, from: { currency: 'USDC', amount: '1000.01' } }
  await assert.rejects(bytesOf(context, other), refusedWith('fx.idempotency', 409))
  await assert.rejects(bytesOf(context, { ...keyed, tenor: 'daily' }), refusedWith('fx.idempotency', 409))
})

test('200: two callers can use the same idempotency key', async () => {
  await using context = await openPricedContext()
  assert.notEqual(await bytesOf(context, keyed, 'one'), await bytesOf(context, keyed, 'two'))
})

test('200: a refused request does not use its idempotency key', async () => {
  await using context = await openPricedContext()
  context.clock.advance(120_000)
  await assert.rejects(bytesOf(context, keyed), refusedWith('fx.rate_stale', 503))
  await storeRate(context, '1.25', context.clock.now())
  assert.match(await bytesOf(context, { ...keyed, tenor: 'daily' }), /"rate"/)
})

test('200: twenty concurrent requests with one key create one quote and get the same bytes', async () => {
  await using context = await openPricedContext()
  const replies = await Promise.all(Array.from({ length: 20 }, () => bytesOf(context, keyed)))
  assert.equal(new Set(replies).size, 1)
  assert.equal(await count(context, 'fx_quotes'), 1)
})
