import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ManualClock } from '#test/manual-clock.ts'
import { type Deadline, openDeadlines } from './deadline.ts'

test('work that ends in time returns its result; other work ends with server.timeout', async () => {
  const clock = new ManualClock(0)
  const deadlines = openDeadlines(clock, 5000)
  assert.equal(await deadlines.within(() => Promise.resolve(7)), 7)
  const stuck = deadlines.within(() => new Promise(() => {}))
  assert.equal(deadlines.inFlight, 1)
  clock.advance(4000)
  assert.equal(deadlines.inFlight, 1)
  clock.advance(2000)
  await assert.rejects(async () => stuck, { code: 'server.timeout' })
  assert.equal(deadlines.inFlight, 0)
})

test('errors are passed on, and the request is no longer in flight', async () => {
  const deadlines = openDeadlines(new ManualClock(0), 5000)
  await assert.rejects(async () => deadlines.within(() => Promise.reject(new Error('x'))), /x/)
  assert.equal(deadlines.inFlight, 0)
})

test('the signal aborts at the time limit and when the caller disconnects', async () => {
  const clock = new ManualClock(0)
  const deadlines = openDeadlines(clock, 5000)
  const aborted: string[] = []
  const stuck =
    (name: string) =>
    ({ signal }: Deadline) =>
      new Promise<never>((_, reject) => {
        signal.addEventListener('abort', () => {
          aborted.push(name)
          reject(signal.reason)
        })
      })
  let leave = () => {}
  const gone = deadlines.within(stuck('gone'), (disconnect) => {
    leave = disconnect
  })
  leave()
  await assert.rejects(async () => gone, { code: 'server.timeout' })
  const late = deadlines.within(stuck('late'))
  clock.advance(6000)
  await assert.rejects(async () => late, { code: 'server.timeout' })
  assert.deepEqual(aborted, ['gone', 'late'])
  // What still runs when the result is there ends too.
  let signal: AbortSignal | undefined
  await deadlines.within(
    async (deadline) => {
      signal = deadline.signal
    },
    (disconnect) => {
      leave = disconnect
    },
  )
  assert.equal(signal?.reason.detail, 'the request has ended')
})

test('a result that comes after the caller has left is not used', async () => {
  const deadlines = openDeadlines(new ManualClock(0), 5000)
  let leave = () => {}
  const { promise, resolve } = Promise.withResolvers<number>()
  const work = deadlines.within(
    ({ signal }) => {
      assert.equal(signal.aborted, false)
      return promise
    },
    (disconnect) => {
      leave = disconnect
    },
  )
  leave()
  resolve(7)
  await assert.rejects(async () => work, { code: 'server.timeout', detail: 'the caller has disconnected' })
})

test('a signal that is first used after the time limit or after the caller has left is aborted', async () => {
  const clock = new ManualClock(0)
  const deadlines = openDeadlines(clock, 5000)
  const kept: Deadline[] = []
  const keep = (deadline: Deadline) => {
    kept.push(deadline)
    return new Promise<never>(() => {})
  }
  const late = deadlines.within(keep)
  clock.advance(6000)
  await assert.rejects(async () => late, { code: 'server.timeout' })
  deadlines.within(keep, (leave) => leave())
  assert.deepEqual(
    kept.map(({ signal }) => signal.aborted),
    [true, true],
  )
})
