import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rangeOf, sparkPath } from './spark-path.ts'

test('gaps interrupt the line, and a point between gaps is visible', () => {
  assert.equal(sparkPath([0, 10, null, 5, null], [0, 10]), 'M2.0 20.0L25.0 2.0M71.0 11.0h1')
  assert.equal(sparkPath([null], [0, 10]), '')
})

test('lines of a table have a common range, at least one point high', () => {
  assert.deepEqual(rangeOf([[97, null, 99], [95]]), [95, 99])
  assert.deepEqual(rangeOf([[99.5, 99.6]]), [98.6, 99.6])
  assert.deepEqual(rangeOf([[null]]), [0, 1])
})
