import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rateHistory } from '#fx/rates/rate-store.ts'
import { openContext } from '#test/context.ts'
import { ManualClock } from '#test/manual-clock.ts'
import { startFaultyRateFeed } from '#test/simulator/faulty-rates.ts'
import { loadPastRates, ratesAt, startRateFeed } from './fx.ts'

const nowMs = Date.UTC(2026, 10, 15, 12)
type Document = ReturnType<typeof ratesAt>
const at = ratesAt

test('the document depends on seed, feed and second only', () => {
  assert.deepEqual(at('s', 'north', nowMs), at('s', 'north', nowMs + 999))
  const first = JSON.stringify(at('s', 'north', nowMs))
  for (const other of [at('t', 'north', nowMs), at('s', 'south', nowMs), at('s', 'north', nowMs + 1000)]) {
    assert.notEqual(JSON.stringify(other), first)
  }
})

test('over a year rates stay within two percent of their level and move slowly', () => {
  const eurUsd = (ms: number) => Number(at('s', 'north', ms).rates[0]?.rate)
  for (let hour = 0; hour < 365 * 24; hour += 7) {
    const rate = eurUsd(nowMs + hour * 3_600_000)
    assert.ok(Math.abs(rate / 1.0842 - 1) < 0.02, `${rate}`)
    const next = eurUsd(nowMs + hour * 3_600_000 + 1000)
    assert.ok(Math.abs(next / rate - 1) < 0.0001, `${rate} ${next}`)
  }
})

test('both feeds respond over HTTP', async () => {
  await using feed = await startRateFeed('s', new ManualClock(nowMs))
  const south = await fetch(`${feed.url}/south/rates`)
  assert.deepEqual(await south.json(), at('s', 'south', nowMs))
  const north = await fetch(`${feed.url}/north/rates`)
  assert.deepEqual(await north.json(), at('s', 'north', nowMs))
  assert.equal((await fetch(`${feed.url}/elsewhere`)).status, 404)
})

test('a faulty feed fails on request', async () => {
  await using feed = await startFaultyRateFeed('s', new ManualClock(nowMs))
  const read = () => fetch(`${feed.url}/south/rates`)
  feed.setFault('south', 'error')
  assert.equal((await read()).status, 500)
  assert.equal((await fetch(`${feed.url}/north/rates`)).status, 200)
  feed.setFault('south', 'stale')
  const stale = (await (await read()).json()) as Document
  assert.equal(stale.rates[0]?.time, '2026-11-14T12:00:00.000Z')
  feed.setFault('south', 'garbage')
  await assert.rejects((await read()).json(), SyntaxError)
  feed.setFault('south', undefined)
  assert.deepEqual(await (await read()).json(), at('s', 'south', nowMs))
})

test('a new demo has the rates of the past week, as the feed stated them, and loading twice changes nothing', async () => {
  await using context = await openContext()
  const hourMs = 3_600_000
  const read = (hours: number) => {
    const untilMs = context.clock.now()
    const query = { base: 'EUR', quote: 'USD', source: 'demo-north', fromMs: untilMs - hours * hourMs, untilMs }
    return rateHistory(context.state, { ...query, rowsMax: 1000 })
  }
  await loadPastRates(context, 's')
  const week = await read(168)
  assert.deepEqual([week.length, (await read(24)).length, (await read(1)).length], [130, 58, 12])
  for (const { rate, atMs } of week) assert.equal(rate, at('s', 'north', atMs).rates[0]?.rate)
  await loadPastRates(context, 's')
  assert.deepEqual(await read(168), week)
})
