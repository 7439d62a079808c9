import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Random } from '#runtime/random.ts'
import { ManualClock } from '#test/manual-clock.ts'
import { type PollOutcome, PollTimeout, poll, WakeSignal, waitMs } from './poll.ts'

const steady = (byte: number): Random => ({ bytes: (count) => new Uint8Array(count).fill(byte), uuid: () => '' })
/** Runs everything that is ready without advancing the clock. */
const settle = () => new Promise((resolve) => setImmediate(resolve))

function watch(work: (signal: AbortSignal) => Promise<string>) {
  const clock = new ManualClock(0)
  const stop = new AbortController()
  const outcomes: PollOutcome<string>[] = []
  const startsMs: number[] = []
  const ended = poll(
    { clock, random: steady(0) },
    {
      everyMs: 1000,
      timeoutMs: 400,
      backoffMaxMs: 5000,
      work: (signal) => {
        startsMs.push(clock.now())
        return work(signal)
      },
      report: (outcome) => outcomes.push(outcome),
    },
    stop.signal,
  )
  const move = async (byMs: number) => {
    for (let passed = 0; passed < byMs; passed += 100) {
      clock.advance(100)
      await settle()
    }
  }
  return { stop, outcomes, startsMs, ended, move }
}

test('polls at once and then at the interval, and reports each success', async () => {
  const { stop, outcomes, startsMs, ended, move } = watch(async () => 'fine')
  await settle()
  await move(2500)
  stop.abort()
  await ended
  assert.deepEqual(startsMs, [0, 1000, 2000])
  assert.deepEqual(outcomes[0], { is: 'done', value: 'fine', tookMs: 0, failuresBefore: 0 })
})

test('waits longer after each failure up to the limit, and goes back to the interval after a success', async () => {
  let calls = 0
  const { stop, outcomes, startsMs, ended, move } = watch(async () => {
    calls += 1
    if (calls <= 4) throw new Error(`no ${calls}`)
    return 'back'
  })
  await settle()
  await move(18_500)
  stop.abort()
  await ended
  // 0 + 2000 + 4000 + 5000 (8000 limited) + 5000, then every 1000
  assert.deepEqual(startsMs, [0, 2000, 6000, 11_000, 16_000, 17_000, 18_000])
  assert.deepEqual(
    outcomes.map((outcome) => (outcome.is === 'failed' ? outcome.failures : `after ${outcome.failuresBefore}`)),
    [1, 2, 3, 4, 'after 4', 'after 0', 'after 0'],
  )
})

test('an attempt beyond its time limit is aborted and counts as a failure', async () => {
  const signals: AbortSignal[] = []
  const { stop, outcomes, ended, move } = watch((signal) => {
    signals.push(signal)
    return new Promise(() => {})
  })
  await move(400)
  assert.equal(signals[0]?.aborted, true)
  const [first] = outcomes
  assert.equal(first?.is, 'failed')
  assert.ok(first.is === 'failed' && first.error instanceof PollTimeout)
  stop.abort()
  await ended
})

test('stopping ends a running attempt at once, without a report', async () => {
  const { stop, outcomes, ended } = watch(() => new Promise(() => {}))
  await settle()
  stop.abort()
  await ended
  assert.deepEqual(outcomes, [])
})

test('work that throws synchronously is a failure', async () => {
  const { stop, outcomes, ended } = watch(() => {
    throw new Error('at once')
  })
  await settle()
  stop.abort()
  await ended
  assert.equal(outcomes[0]?.is, 'failed')
})

test('the wait after failures is between half and all of the backoff', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 100 }), fc.integer({ min: 0, max: 255 }), (failures, byte) => {
      const wait = waitMs({ everyMs: 1000, backoffMaxMs: 60_000 }, failures, steady(byte))
      const whole = Math.min(1000 * 2 ** failures, 60_000)
      assert.ok(wait >= whole / 2 && wait <= whole, `${wait}`)
    }),
  )
})

test('a wake signal ends the wait, also if it came during the attempt', async () => {
  const clock = new ManualClock(0)
  const stop = new AbortController()
  const bell = new WakeSignal()
  let attempts = 0
  const polling = poll(
    { clock, random: steady(0) },
    {
      everyMs: 3_600_000,
      timeoutMs: 1000,
      backoffMaxMs: 3_600_000,
      wakeSignal: bell,
      work: async () => {
        attempts += 1
        if (attempts === 2) bell.wake()
      },
      report: () => {},
    },
    stop.signal,
  )
  await settle()
  assert.equal(attempts, 1)
  bell.wake()
  for (let round = 0; round < 5; round++) await settle()
  assert.equal(attempts, 3, 'nothing started another poll')
  stop.abort()
  await polling
})
