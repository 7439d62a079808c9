import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Overview } from '#api/console.ts'
import { addSample, emptyHistory, toLines } from './history.ts'

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

test('rates are the difference of two samples over time: 10 requests in 4 s are 2.5/s; other paths are not counted', () => {
  const { xs, requests, refused, latency } = toLines(
    addSample(addSample(emptyHistory, report(10, 100)), report(14, 110)),
  )
  assert.deepEqual(xs, [14])
  assert.deepEqual(requests.find(({ label }) => label === 'fx')?.values, [2.5])
  assert.deepEqual(requests.find(({ label }) => label === 'markets')?.values, [0])
  assert.deepEqual(refused, [{ label: 'second', values: [1.25] }])
  assert.equal(latency[0]?.values[0]?.toFixed(6), '2.000000')
})

test('without responses between two samples there is no response time', () => {
  assert.deepEqual(toLines(addSample(addSample(emptyHistory, report(1, 5)), report(2, 5))).latency[0]?.values, [null])
})

test('a restart clears the history, a repeated sample counts once, and old samples are dropped', () => {
  const restarted = addSample(
    addSample(emptyHistory, report(1, 50)),
    report(2, 0, { startedAt: '2026-11-15T00:00:01.500Z' }),
  )
  assert.equal(restarted.length, 1)
  assert.equal(addSample(addSample(emptyHistory, report(1, 5)), report(1, 5)).length, 1)
  let history = emptyHistory
  for (let second = 1; second < 400; second++) history = addSample(history, report(second, second))
  assert.equal(history.length, 150)
})
