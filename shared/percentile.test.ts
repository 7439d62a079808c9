import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { percentileOf } from './percentile.ts'

test('a percentile is interpolated, and equal scores get the middle of theirs', () => {
  const of = (score: number) => percentileOf(score, [10, 25, 90, 99], [30, 50, 100, 100])
  assert.deepEqual([40, 50, 100, 0, 15].map(of), [17.5, 25, 95, 0, 5])
  assert.equal(percentileOf(98, [10, 90], [90, 96]), 95)
})
