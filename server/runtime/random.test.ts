import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemRandom } from './random.ts'

test('small amounts never share bytes, and have the requested length', () => {
  const taken = Array.from({ length: 2000 }, (_, at) => systemRandom.bytes(7 + (at % 10)))
  assert.ok(taken.every((bytes, at) => bytes.length === 7 + (at % 10)))
  assert.equal(new Set(taken.map((bytes) => Buffer.from(bytes).toString('hex'))).size, 2000)
  assert.equal(new Set(taken.map(({ buffer }) => buffer)).size, 2000)
})
