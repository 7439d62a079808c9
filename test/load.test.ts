import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mostInOneSecond } from './load.ts'

test('counts only responses that were certainly within one second', () => {
  const response = (sentMs: number, receivedMs: number) => ({ sentMs, receivedMs })
  assert.equal(mostInOneSecond([]), 0)
  assert.equal(mostInOneSecond([response(0, 10), response(500, 510), response(990, 999)]), 3)
  // The last may have been handled a second after the first.
  assert.equal(mostInOneSecond([response(0, 10), response(500, 510), response(990, 1000)]), 2)
  // A slow one may have been handled at any time.
  assert.equal(mostInOneSecond([response(0, 1500), response(100, 110), response(200, 210)]), 2)
})
