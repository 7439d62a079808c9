import assert from 'node:assert/strict'
import { test } from 'node:test'
import { meanPercentile } from './mean-percentile.ts'

test('days without a score or a distribution do not count', () => {
  const network = { percentiles: [10, 50, 90], distribution: [[40, 60, 80], null, [50, 70, 90], [50, 70, 90]] }
  assert.equal(meanPercentile([60, 60, 90, null], network), 70)
  assert.equal(meanPercentile([null, 60, null, null], network), null)
})
