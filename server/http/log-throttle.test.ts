import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ManualClock } from '#test/manual-clock.ts'
import { LogThrottle } from './log-throttle.ts'

test('a message is logged at once, then once a minute with a count', () => {
  const clock = new ManualClock(0)
  const throttle = new LogThrottle(clock)
  assert.equal(throttle.countToLog('a.sqlite cannot grow'), 1)
  for (let times = 0; times < 5; times += 1) assert.equal(throttle.countToLog('a.sqlite cannot grow'), undefined)
  assert.equal(throttle.countToLog('b.duckdb cannot grow'), 1)
  clock.advance(59_999)
  assert.equal(throttle.countToLog('a.sqlite cannot grow'), undefined)
  clock.advance(1)
  assert.equal(throttle.countToLog('a.sqlite cannot grow'), 7)
  assert.equal(throttle.countToLog('a.sqlite cannot grow'), undefined)
})

test('messages that differ in numbers are one, and the number of messages is limited', () => {
  const throttle = new LogThrottle(new ManualClock(0))
  assert.equal(throttle.countToLog('10000 writes are waiting'), 1)
  assert.equal(throttle.countToLog('9999 writes are waiting'), undefined)
  for (let code = 0; code < 100; code += 1) throttle.countToLog(`cause ${String.fromCharCode(256 + code)}`)
  assert.equal(throttle.countToLog('10000 writes are waiting'), 1, 'forgotten')
})
