import assert from 'node:assert/strict'
import { test } from 'node:test'
import { capRange, widenRange } from './widen-range.ts'

test('a time range shorter than a minute is widened to a minute around its middle', () => {
  assert.deepEqual(widenRange(1000, 1000), [970, 1030])
  assert.deepEqual(widenRange(1000, 1020), [980, 1040])
  assert.deepEqual(widenRange(1000, 1060), [1000, 1060])
  assert.deepEqual(widenRange(1000, 5000), [1000, 5000])
  assert.deepEqual(widenRange(null, null), [null, null])
})

test('an axis of scores ends at the largest score', () => {
  assert.deepEqual(capRange([95.2, 102], 100), [95.2, 100])
  assert.deepEqual(capRange([40, 90], 100), [40, 90])
})
