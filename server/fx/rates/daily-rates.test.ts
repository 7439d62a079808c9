// Rates of past days: only rates of that UTC date count.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openContext, type TestContext } from '#test/context.ts'
import type { Rate } from '../pricing/mid.ts'
import { readDailyRates } from './daily-rates.ts'
import { storeRates } from './rate-store.ts'

const openWith = (...ids: string[]) =>
  openContext({
    fx: { sources: ids.map((id) => ({ id, kind: 'http-json', url: `https://${id}.example/`, staleMs: 10_000 })) },
  })

async function store(context: TestContext, rates: readonly (readonly [string, string, string, string])[]) {
  for (const [source, pair, time, rate] of rates) {
    const [base = '', quote = ''] = pair.split('/')
    const stated: Rate = { source, base, quote, rate, atMs: Date.parse(time) }
    await storeRates(context.state, source, [stated], stated.atMs + 1)
  }
}

const dates = ['2026-11-01', '2026-11-02', '2026-11-03', '2026-11-04']
const read = async (context: TestContext, base = 'ETH', quote = 'EUR') => {
  const rates = await readDailyRates(context, { base, quote }, dates)
  return rates && Object.fromEntries(rates)
}

test('the rate of a day is the last one of its UTC date, digit for digit, and never that of another day', async () => {
  await using context = await openWith('a')
  await store(context, [
    ['a', 'ETH/EUR', '2026-11-01T00:00:00Z', '3001.10'],
    ['a', 'ETH/EUR', '2026-11-01T23:59:59.999Z', '3002.123456789'],
    ['a', 'ETH/EUR', '2026-11-03T00:00:00Z', '3003'],
    ['a', 'ETH/EUR', '2026-11-05T00:00:00Z', '3004'],
  ])
  assert.deepEqual(await read(context), { '2026-11-01': '3002.123456789', '2026-11-03': '3003' })
})

test('a pair that is stated the other way round is inverted, and a missing one is crossed', async () => {
  await using context = await openWith('a', 'b')
  await store(context, [
    ['a', 'USD/ETH', '2026-11-02T12:00:00Z', '0.00025'],
    ['b', 'EUR/USD', '2026-11-02T12:00:00Z', '1.25'],
    ['b', 'EUR/USD', '2026-11-03T12:00:00Z', '1.25'],
  ])
  assert.deepEqual(await read(context, 'ETH', 'USD'), { '2026-11-02': '4000' })
  assert.deepEqual(await read(context), { '2026-11-02': '3200' })
})

test('several sources give their median; a day on which they contradict each other has no rate', async () => {
  await using context = await openWith('a', 'b', 'c')
  await store(context, [
    ['a', 'ETH/EUR', '2026-11-01T10:00:00Z', '3000'],
    ['b', 'ETH/EUR', '2026-11-01T11:00:00Z', '3001'],
    ['c', 'ETH/EUR', '2026-11-01T12:00:00Z', '9000'],
    ['a', 'ETH/EUR', '2026-11-02T10:00:00Z', '3000'],
    ['b', 'ETH/EUR', '2026-11-02T10:00:00Z', '6000'],
  ])
  assert.deepEqual(await read(context), { '2026-11-01': '3000.5' })
})

test('rates that do not connect the pair, or are of a source that was removed, are no rates', async () => {
  await using context = await openWith('a')
  await store(context, [
    ['a', 'EUR/USD', '2026-11-01T10:00:00Z', '1.25'],
    ['removed', 'ETH/EUR', '2026-11-01T10:00:00Z', '3000'],
  ])
  assert.equal(await read(context), undefined)
})
