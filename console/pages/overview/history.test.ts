import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Overview } from '#api/console.ts'
import { emptyHistory, remember, toLines } from './history.ts'

const report = (second: number, calls: number, more: Partial<Overview> = {}): Overview => ({
  at: new Date(second * 1000).toISOString(),
  version: '1',
  startedAt: '2026-11-15T00:00:00.000Z',
  ready: true,
  checks: [],
  streams: [],
  ingest: [],
  sources: [],
  requests: [
    {
      endpoint: 'fx.createQuote',
      outcomes: { body: calls, 'limit.second': 1 },
      answered: calls,
      seconds: calls * 0.002,
    },
    { endpoint: '/healthz', outcomes: { ok: 1000 * second }, answered: 1000 * second, seconds: 1 },
  ],
  limited: { second: calls / 2 },
  engine: 'sqlite',
  ...more,
})

test('two readings give a rate: 10 more calls in 4 seconds are 2.5 a second, at 2 ms each; paths beside are not counted', () => {
  const { xs, requests, refused, latency } = toLines(remember(remember(emptyHistory, report(10, 100)), report(14, 110)))
  assert.deepEqual(xs, [14])
  assert.deepEqual(requests.find(({ label }) => label === 'fx')?.values, [2.5])
  assert.deepEqual(requests.find(({ label }) => label === 'markets')?.values, [0])
  assert.deepEqual(refused, [{ label: 'second', values: [1.25] }])
  assert.equal(latency[0]?.values[0]?.toFixed(6), '2.000000')
})

test('without answers there is no time of an answer', () => {
  assert.deepEqual(toLines(remember(remember(emptyHistory, report(1, 5)), report(2, 5))).latency[0]?.values, [null])
})

test('a restart starts anew, the same reading twice counts once, and old readings are let go of', () => {
  const restarted = remember(
    remember(emptyHistory, report(1, 50)),
    report(2, 0, { startedAt: '2026-11-15T00:00:01.500Z' }),
  )
  assert.equal(restarted.length, 1)
  assert.equal(remember(remember(emptyHistory, report(1, 5)), report(1, 5)).length, 1)
  let long = emptyHistory
  for (let second = 1; second < 400; second++) long = remember(long, report(second, second))
  assert.equal(long.length, 150)
})
