import assert from 'node:assert/strict'
import { test } from 'node:test'
import { labelSpace, spreadLabels } from './plot-layout.ts'

test('labels are at the ends of lines if they fit; a single line needs none', () => {
  assert.equal(labelSpace([40, 62.2], 600, 200), 71)
  assert.equal(labelSpace([40], 600, 200), 0)
  assert.equal(labelSpace([40, 120], 300, 200), 0)
  assert.equal(labelSpace(Array(13).fill(40), 600, 200), 0)
})

test('labels that would overlap are moved apart, in the order of their lines and within the plot', () => {
  assert.deepEqual(spreadLabels([50, 100], 200), [50, 100])
  assert.deepEqual(spreadLabels([100, 100, 101], 200), [100, 116, 132])
  assert.deepEqual(spreadLabels([199, 198], 200), [192, 176])
  assert.deepEqual(spreadLabels([0, -5], 200), [24, 8])
})
