import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { SlidingWindow, SlidingWindows } from './sliding-window.ts'

const windowMs = 1000

/** The definition: a call is accepted if fewer than `limit` accepted calls are in (now - window, now]. */
const naiveWaitMs = (accepted: readonly number[], limit: number, nowMs: number): number => {
  const live = accepted.filter((atMs) => atMs > nowMs - windowMs)
  return live.length < limit ? 0 : (live[live.length - limit] as number) + windowMs - nowMs
}

// Eighths of a millisecond are exact in binary, so both results must be equal.
// Mostly short steps, so that limits are reached; sometimes the length of the window or more.
const eighths = (max: number) => fc.integer({ min: 0, max }).map((n) => n / 8)
const stepMs = fc.oneof(
  { weight: 6, arbitrary: eighths(400) },
  { weight: 2, arbitrary: fc.constantFrom(0, 0, 1, 999, 1000, 1001) },
  { weight: 1, arbitrary: eighths(24_000) },
)
const steps = (maxLength: number) => fc.array(stepMs, { maxLength, size: 'max' })

describe('one name', () => {
  test('no wait is longer than the window, whatever the fraction of the time', () => {
    // 3863.658959888827 + 1000 - 3863.658959888827 is more than 1000.
    const nowMs = 3863.658959888827
    const log = new SlidingWindow(windowMs)
    log.add(nowMs)
    assert.equal(log.waitMs(1, nowMs), windowMs)
  })

  test('no rolling second exceeds the limit, and no call within the limit is refused', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 40 }), steps(300), (limit, taken) => {
        const log = new SlidingWindow(windowMs)
        const accepted: number[] = []
        let nowMs = 0
        for (const step of taken) {
          nowMs += step
          const waitMs = log.waitMs(limit, nowMs)
          assert.equal(waitMs, naiveWaitMs(accepted, limit, nowMs))
          if (waitMs > 0) continue
          log.add(nowMs)
          accepted.push(nowMs)
        }
        for (const fromMs of accepted) {
          const inside = accepted.filter((atMs) => atMs >= fromMs && atMs < fromMs + windowMs)
          assert.ok(inside.length <= limit)
        }
      }),
    )
  })

  test('a refused call is accepted exactly after the reported wait', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 20 }), steps(100), (limit, taken) => {
        const log = new SlidingWindow(windowMs)
        let nowMs = 0
        for (const step of taken) {
          nowMs += step
          const waitMs = log.waitMs(limit, nowMs)
          if (waitMs > 0) {
            assert.ok(log.waitMs(limit, nowMs + waitMs - 1 / 8) > 0)
            nowMs += waitMs
            assert.equal(log.waitMs(limit, nowMs), 0)
          }
          log.add(nowMs)
        }
      }),
    )
  })

  test('the window is half-open: a call of exactly one second ago does not count', () => {
    const log = new SlidingWindow(windowMs)
    log.add(500)
    assert.equal(log.waitMs(1, 1499), 1)
    assert.equal(log.waitMs(1, 1500), 0)
  })

  test('the generated calls are often refused', () => {
    const refused = fc.sample(steps(300), { numRuns: 50, seed: 1 }).map((taken) => {
      const log = new SlidingWindow(windowMs)
      let nowMs = 0
      let count = 0
      for (const step of taken) {
        nowMs += step
        if (log.waitMs(5, nowMs) > 0) count += 1
        else log.add(nowMs)
      }
      return count
    })
    assert.ok(refused.filter((count) => count > 10).length > 25, `refusals per run: ${refused}`)
  })

  test('a limit of 100 000 is enforced', () => {
    const log = new SlidingWindow(windowMs)
    for (let call = 0; call < 100_000; call++) {
      assert.equal(log.waitMs(100_000, call / 200), 0)
      log.add(call / 200)
    }
    assert.equal(log.waitMs(100_000, 500), 500)
    assert.equal(log.waitMs(100_000, 1000), 0)
  })

  test('a limit that becomes lower counts the calls already made', () => {
    const log = new SlidingWindow(windowMs)
    for (const atMs of [0, 100, 200, 300]) log.add(atMs)
    // Calls at 0 … 300 leave at 1000 … 1300. With a limit of 2, the next call is possible at 1200, when three have left.
    assert.equal(log.waitMs(2, 400), 800)
  })
})

describe('many names', () => {
  const calls = fc.array(fc.record({ step: stepMs, name: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f') }), {
    maxLength: 300,
    size: 'max',
  })

  test('names are limited separately, and removing a name does not weaken its limit', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5 }), calls, (limit, made) => {
        const windows = new SlidingWindows(windowMs, 100)
        const accepted: Record<string, number[]> = {}
        let nowMs = 0
        for (const { step, name } of made) {
          nowMs += step
          accepted[name] ??= []
          const waitMs = windows.waitMs(name, limit, nowMs)
          assert.equal(waitMs, naiveWaitMs(accepted[name], limit, nowMs))
          if (waitMs > 0) continue
          assert.ok(windows.add(name, nowMs))
          accepted[name].push(nowMs)
        }
      }),
    )
  })

  test('with too many names, a new one waits and the limits of the others hold', () => {
    fc.assert(
      fc.property(calls, (made) => {
        const windows = new SlidingWindows(windowMs, 3)
        const accepted: Record<string, number[]> = {}
        let nowMs = 0
        for (const { step, name } of made) {
          nowMs += step
          accepted[name] ??= []
          const waitMs = windows.waitMs(name, 2, nowMs)
          assert.ok(windows.size <= 3)
          assert.ok(waitMs >= naiveWaitMs(accepted[name], 2, nowMs))
          if (waitMs > 0) continue
          assert.ok(windows.add(name, nowMs))
          accepted[name].push(nowMs)
        }
      }),
    )
  })

  test('a name without calls is removed after two windows', () => {
    const windows = new SlidingWindows(windowMs, 2)
    windows.add('a', 0)
    windows.add('b', 0)
    assert.equal(windows.waitMs('c', 1, 0), windowMs)
    assert.equal(windows.add('c', 0), false)
    windows.waitMs('c', 1, 1000)
    assert.equal(windows.waitMs('c', 1, 2000), 0)
    assert.equal(windows.size, 0)
  })
})
