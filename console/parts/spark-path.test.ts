import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lowestPoint, rangeOf, sparkPath } from './spark-path.ts'

test('gaps interrupt the line, and a point between gaps is visible', () => {
  assert.equal(sparkPath([0, 10, null, 5, null], [0, 10]), 'M4.0 18.0L26.0 4.0M70.0 11.0h1')
  assert.equal(sparkPath([null], [0, 10]), '')
})

test('the newest of the lowest values is marked', () => {
  assert.deepEqual(lowestPoint([5, 0, null, 0, 10], [0, 10]), { value: 0, x: '70.0', y: '18.0' })
  assert.equal(lowestPoint([null], [0, 10]), undefined)
})

test('lines of a table have a common range, at least one point high', () => {
  assert.deepEqual(rangeOf([[97, null, 99], [95]]), [95, 99])
  assert.deepEqual(rangeOf([[99.5, 99.6]]), [98.6, 99.6])
  assert.deepEqual(rangeOf([[null]]), [0, 1])
})
