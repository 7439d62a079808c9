// How long work is repeated during an outage, without a database.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { JumpingClock } from '#test/jumping-clock.ts'
import { ConnectionLost } from './errors.ts'
import { createOutageRetry } from './outage.ts'

const waitMs = 15_000

/** Work that loses its connection this many times before it succeeds. */
function losing(times: number) {
  const work = async () => {
    work.attempts += 1
    if (work.attempts <= times) throw new ConnectionLost('it is down')
    return 'done'
  }
  work.attempts = 0
  return work
}

test('work is repeated until the time is up; later calls in the same outage fail at once', async () => {
  const clock = new JumpingClock(0)
  const retry = createOutageRetry(waitMs, clock)
  assert.equal(await retry(losing(100)), 'done')
  await assert.rejects(retry(losing(Number.POSITIVE_INFINITY)), ConnectionLost)
  clock.advance(waitMs)
  const later = losing(1)
  await assert.rejects(retry(later), ConnectionLost)
  assert.equal(later.attempts, 1)
})

test('a connection that is lost long after an outage is a new outage, even if nothing has succeeded since', async () => {
  const clock = new JumpingClock(0)
  const retry = createOutageRetry(waitMs, clock)
  await assert.rejects(retry(losing(Number.POSITIVE_INFINITY)), ConnectionLost)
  clock.advance(waitMs + 1)
  assert.equal(await retry(losing(1)), 'done')
})

test('attempts that take longer than the waiting time do not start a new outage', async () => {
  const clock = new JumpingClock(0)
  const retry = createOutageRetry(waitMs, clock)
  let attempts = 0
  const slow = async () => {
    attempts += 1
    clock.advance(2 * waitMs)
    throw new ConnectionLost('no reply')
  }
  await assert.rejects(retry(slow), ConnectionLost)
  assert.equal(attempts, 2)
  await assert.rejects(retry(slow), ConnectionLost)
  assert.equal(attempts, 3)
})

test('other errors are not repeated', async () => {
  let attempts = 0
  const work = async () => {
    attempts += 1
    throw new Error('a bug')
  }
  await assert.rejects(createOutageRetry(waitMs, new JumpingClock(0))(work), /a bug/)
  assert.equal(attempts, 1)
})
