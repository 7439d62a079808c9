import assert from 'node:assert/strict'
import { test } from 'node:test'
import { widened } from './widened.ts'

test('a plot shows a minute at least, and otherwise what is there', () => {
  assert.deepEqual(widened(1000, 1000), [970, 1030])
  assert.deepEqual(widened(1000, 1020), [980, 1040])
  assert.deepEqual(widened(1000, 1060), [1000, 1060])
  assert.deepEqual(widened(1000, 5000), [1000, 5000])
  assert.deepEqual(widened(null, null), [null, null])
})
