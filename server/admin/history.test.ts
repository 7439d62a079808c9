import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openMetrics } from '#runtime/metrics.ts'
import type { ServerHistory } from '#shared/console-calls.ts'
import { openConsole } from '#test/console.ts'
import { testNowMs } from '#test/context.ts'
import { ManualClock } from '#test/manual-clock.ts'
import { percentileMs, startHistoryRecorder } from './history.ts'

const stream = (ageSeconds: number | null) => ({ group: 'fx', name: 'rates desk', ageSeconds }) as never

async function openRecorder() {
  const clock = new ManualClock(testNowMs)
  const metrics = openMetrics({ process: false })
  let age: number | null = 5
  const coverage = async () => {
    if (age === null) throw new Error('no database')
    return { streams: [stream(age)] } as never
  }
  const recorder = startHistoryRecorder({ clock, metrics, coverage })
  await recorder.read()
  return {
    clock,
    metrics,
    recorder,
    setAge: (seconds: number | null) => {
      age = seconds
    },
    /** Lets a minute pass. Reading waits until it has been recorded. */
    async minute() {
      clock.advance(60_000)
      await recorder.read()
    },
  }
}

describe('history', () => {
  test('rates and percentiles are those of each minute, by interface', async () => {
    const { metrics, recorder, minute } = await openRecorder()
    for (let call = 0; call < 120; call++) metrics.request('fx.createQuote', 'ok', 2)
    metrics.request('fx.quote', 'input.invalid', 2)
    metrics.request('explorer.trail', 'server.timeout', 2)
    metrics.request('/healthz', 'ok', 2)
    await minute()
    for (let call = 0; call < 60; call++) metrics.request('markets.bySlug', 'ok', call < 30 ? 0.4 : 200)
    await minute()
    const { hour } = await recorder.read()
    assert.deepEqual(hour.times, [testNowMs / 1000 + 60, testNowMs / 1000 + 120].map(Math.round))
    assert.deepEqual(hour.traffic.fx.requests, [2.017, 0])
    assert.deepEqual(hour.traffic.fx.refused, [0.017, 0])
    assert.deepEqual(hour.traffic.explorer.errors, [0.017, 0])
    assert.deepEqual(hour.traffic.all.requests, [2.033, 1])
    assert.deepEqual(hour.traffic.markets.requests, [0, 1])
    // Between 1 and 2.5 ms, and 100 and 250 ms: the bounds of the buckets.
    assert.deepEqual(
      [hour.traffic.fx.p50, hour.traffic.fx.p99],
      [
        [1.75, null],
        [2.485, null],
      ],
    )
    assert.deepEqual(
      [hour.traffic.markets.p50, hour.traffic.markets.p95],
      [
        [null, 0.5],
        [null, 235],
      ],
    )
  })

  test('the age of the data is recorded, also as unknown while the database does not respond', async () => {
    const { recorder, minute, setAge } = await openRecorder()
    await minute()
    setAge(70)
    await minute()
    setAge(null)
    await minute()
    setAge(3)
    const { hour } = await recorder.read()
    assert.deepEqual(hour.lag, [{ group: 'fx', stream: 'rates desk', seconds: [5, 70, null] }])
  })

  test('an hour by minute and a day by quarter of an hour are kept, and nothing older', async () => {
    const { recorder, clock } = await openRecorder()
    clock.advance(25 * 3_600_000 + 1000)
    const { hour, day } = await recorder.read()
    assert.deepEqual([hour.times.length, day.times.length], [61, 97])
    assert.equal((day.times[1] as number) - (day.times[0] as number), 900)
    assert.equal((hour.times[1] as number) - (hour.times[0] as number), 60)
  })

  test('a new server has a value for the time since its start', async () => {
    const { recorder, clock, metrics } = await openRecorder()
    metrics.request('fx.quote', 'ok', 1)
    clock.advance(10_000)
    assert.deepEqual((await recorder.read()).hour.traffic.fx.requests, [0.1])
  })

  test('a percentile is interpolated within its bucket; above the last bound, it is the bound', () => {
    const upTo = (counts: readonly number[]) => Array.from({ length: 16 }, (_, at) => counts[at] ?? counts.at(-1) ?? 0)
    assert.equal(percentileMs(upTo([0, 10]), 0.5), 0.75)
    assert.equal(percentileMs(upTo([0]), 0.5), null)
    assert.equal(percentileMs([...Array(15).fill(0), 4], 0.5), 30_000)
  })

  test('the operator reads it, others do not', async () => {
    await using site = await openConsole()
    assert.equal((await site.request('/console/history')).status, 401)
    const reply = await site.request('/console/history', { cookie: await site.signIn() })
    assert.deepEqual(Object.keys(reply.json<ServerHistory>()), ['hour', 'day'])
  })
})
