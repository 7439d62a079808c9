import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ManualClock } from '#runtime/clock.ts'
import { LogThrottle } from './log-throttle.ts'

test('a cause is due at once, then once a minute with how often it was', () => {
  const clock = new ManualClock(0)
  const repeats = new LogThrottle(clock)
  assert.equal(repeats.due('a.sqlite cannot grow'), 1)
  for (let times = 0; times < 5; times += 1) assert.equal(repeats.due('a.sqlite cannot grow'), undefined)
  assert.equal(repeats.due('b.duckdb cannot grow'), 1)
  clock.advance(59_999)
  assert.equal(repeats.due('a.sqlite cannot grow'), undefined)
  clock.advance(1)
  assert.equal(repeats.due('a.sqlite cannot grow'), 7)
  assert.equal(repeats.due('a.sqlite cannot grow'), undefined)
})

test('causes that differ in a count are one, and their number is bounded', () => {
  const repeats = new LogThrottle(new ManualClock(0))
  assert.equal(repeats.due('10000 writes are waiting'), 1)
  assert.equal(repeats.due('9999 writes are waiting'), undefined)
  for (let code = 0; code < 100; code += 1) repeats.due(`cause ${String.fromCharCode(256 + code)}`)
  assert.equal(repeats.due('10000 writes are waiting'), 1, 'forgotten')
})
