import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clockOf, unixOf } from './chain-clock.ts'

const record = {
  startEpoch: 475_875,
  endEpoch: 476_099,
  startTimestamp: '2026-09-16T12:00:23.000Z',
  endTimestamp: '2026-09-17T12:00:23.000Z',
}

test('the start of every epoch follows from one record', () => {
  const clock = clockOf(record)
  assert(clock)
  // 225 epochs in 86 400 s: 384 s each.
  assert.equal(clock.epochSeconds, 384)
  assert.equal(unixOf(clock, 475_875), Date.parse('2026-09-16T12:00:23Z') / 1000)
  assert.equal(unixOf(clock, 476_100), Date.parse('2026-09-17T12:00:23Z') / 1000)
  // Genesis: 475 875 · 384 s earlier.
  assert.equal(new Date(unixOf(clock, 0) * 1000).toISOString(), '2020-12-01T12:00:23.000Z')
})

test('a record without epochs or valid times gives no clock', () => {
  assert.equal(clockOf({ ...record, startEpoch: null }), undefined)
  assert.equal(clockOf({ ...record, endTimestamp: 'soon' }), undefined)
})
