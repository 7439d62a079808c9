import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BatchSize } from './batch-size.ts'

const goalBytes = 1000

test('the size follows the bytes of the responses: it at most doubles, and is never below the first one', () => {
  const size = new BatchSize(50, 4)
  const sizes = [10, 10, 10, 10, 10, 40, 10, 1000, 10].map((bytesPerCall) => {
    const calls = size.now
    size.measure(calls, calls * bytesPerCall, goalBytes)
    return calls
  })
  assert.deepEqual(sizes, [4, 8, 16, 32, 50, 50, 25, 50, 4])
})

test('a short request does not reduce the size', () => {
  const size = new BatchSize(50, 4)
  for (const calls of [4, 8, 1]) size.measure(calls, calls, goalBytes)
  assert.equal(size.now, 16)
})

test('small responses do not undo what the node has refused', () => {
  const size = new BatchSize(50, 4)
  for (const calls of [4, 8, 16]) size.measure(calls, calls, goalBytes)
  size.shrink(32)
  size.measure(16, 16, goalBytes)
  assert.equal(size.now, 16)
})
