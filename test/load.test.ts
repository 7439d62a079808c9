import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mostInOneSecond } from './load.ts'

test('only answers that were certainly given within one second are counted together', () => {
  const answer = (sentMs: number, receivedMs: number) => ({ sentMs, receivedMs })
  assert.equal(mostInOneSecond([]), 0)
  assert.equal(mostInOneSecond([answer(0, 10), answer(500, 510), answer(990, 999)]), 3)
  // The last may have been decided a second after the first.
  assert.equal(mostInOneSecond([answer(0, 10), answer(500, 510), answer(990, 1000)]), 2)
  // One that took long may have been decided at any time of it.
  assert.equal(mostInOneSecond([answer(0, 1500), answer(100, 110), answer(200, 210)]), 2)
})
