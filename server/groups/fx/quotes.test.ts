// What an idempotency key promises (decision 0024), through the endpoint and down to the store.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Fault } from '#core/fault.ts'
import type { Desk } from '#serve/answer.ts'
import { openDesk, testNowMs, testVisit } from '#test/desk.ts'
import type { QuoteInput } from './asked.ts'
import { createQuote } from './create-quote.ts'
import { keepRates } from './rate-store.ts'

const source = { id: 'a', kind: 'http-json', url: 'https://rates.example/', staleMs: 60_000 }
const keyed: QuoteInput = {
  from: { currency: 'USDC', amount: '1000.00' },
  to: { currency: 'EURC' },
  tenor: 'instant',
  type: 'tradable',
  recipientAddress: '0x1111111111111111111111111111111111111111',
  idempotencyKey: 'order-7',
}

async function openPricedDesk() {
  const desk = await openDesk({ fx: { spender: '0x3333333333333333333333333333333333333333', sources: [source] } })
  await tell(desk, '1.25', testNowMs)
  return desk
}

const tell = (desk: Desk, rate: string, atMs: number) =>
  keepRates(desk.state, 'a', [{ source: 'a', base: 'EUR', quote: 'USD', rate, atMs }], atMs)

async function bytesOf(desk: Desk, input: QuoteInput, keyId = 'test'): Promise<string> {
  const outcome = await createQuote.reply(input, desk, testVisit({ caller: { keyId, plan: 'free' } }))
  assert.ok(outcome.is === 'bytes')
  return new TextDecoder().decode(outcome.bytes)
}

const refusedWith = (code: string, status: number) => (error: unknown) => {
  assert.ok(error instanceof Fault, String(error))
  assert.deepEqual([error.code, error.status], [code, status])
  return true
}

const count = async (desk: Desk, table: string) =>
  (await desk.state.get<{ count: number }>(`select count(*) as count from ${table}`))?.count

test('200: the same key and body replay the first reply byte for byte, also when the rate has moved or gone', async () => {
  await using desk = await openPricedDesk()
  const first = await bytesOf(desk, keyed)
  await tell(desk, '1.5', testNowMs + 1000)
  desk.clock.move(2000)
  assert.equal(await bytesOf(desk, keyed), first)
  desk.clock.move(86_400_000 - 2001)
  assert.equal(await bytesOf(desk, keyed), first)
  assert.equal(await count(desk, 'fx_quotes'), 1)
})

test('200: after 24 hours the key is free again', async () => {
  await using desk = await openPricedDesk()
  const first = await bytesOf(desk, keyed)
  desk.clock.move(86_400_000)
  await tell(desk, '1.25', desk.clock.now())
  assert.notEqual(await bytesOf(desk, keyed), first)
  assert.equal(await count(desk, 'fx_idempotency'), 1)
})

test('409: the same key with another body', async () => {
  await using desk = await openPricedDesk()
  await bytesOf(desk, keyed)
  const other = { ...keyed, from: { currency: 'USDC', amount: '1000.01' } }
  await assert.rejects(bytesOf(desk, other), refusedWith('fx.idempotency', 409))
  await assert.rejects(bytesOf(desk, { ...keyed, tenor: 'daily' }), refusedWith('fx.idempotency', 409))
})

test('200: keys of two callers do not meet', async () => {
  await using desk = await openPricedDesk()
  assert.notEqual(await bytesOf(desk, keyed, 'one'), await bytesOf(desk, keyed, 'two'))
})

test('200: a refused request does not use its key up', async () => {
  await using desk = await openPricedDesk()
  desk.clock.move(120_000)
  await assert.rejects(bytesOf(desk, keyed), refusedWith('fx.rate_stale', 503))
  await tell(desk, '1.25', desk.clock.now())
  assert.match(await bytesOf(desk, { ...keyed, tenor: 'daily' }), /"rate"/)
})

test('200: twenty at once with one key make one quote and get the same bytes', async () => {
  await using desk = await openPricedDesk()
  const replies = await Promise.all(Array.from({ length: 20 }, () => bytesOf(desk, keyed)))
  assert.equal(new Set(replies).size, 1)
  assert.equal(await count(desk, 'fx_quotes'), 1)
})

test('keys older than a day are removed, a bounded number with each write', async () => {
  await using desk = await openPricedDesk()
  const { id } = JSON.parse(await bytesOf(desk, { ...keyed, idempotencyKey: 'order-6' }))
  await desk.state.write(async (tx) => {
    for (let index = 0; index < 150; index++) {
      await tx.run(
        `insert into fx_idempotency (key_id, idempotency_key, body_hash, quote_id, created_ms)
         values ('old', ?, 'x', ?, ?)`,
        String(index),
        id,
        testNowMs - 86_400_000 - index,
      )
    }
  })
  await bytesOf(desk, keyed)
  assert.equal(await count(desk, 'fx_idempotency'), 52)
  await bytesOf(desk, { ...keyed, idempotencyKey: 'order-8' })
  assert.equal(await count(desk, 'fx_idempotency'), 3)
})
