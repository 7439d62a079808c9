import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createPause } from './pause-while-busy.ts'

/** An event loop that other work keeps busy for the given share of the time until `busyUntilMs`. */
function createLoop(busyShare: number, busyUntilMs = Number.POSITIVE_INFINITY) {
  let nowMs = 0
  const pauses: number[] = []
  const pause = createPause({
    nowMs: () => nowMs,
    wait: async (ms) => {
      const share = nowMs < busyUntilMs ? busyShare : 0
      nowMs += ms
      return share
    },
  })
  const work = async (ms: number) => {
    nowMs += ms
    const startMs = nowMs
    await pause()
    pauses.push(nowMs - startMs)
  }
  return { work, pauses }
}

test('1: an idle event loop is left for a millisecond', async () => {
  const { work, pauses } = createLoop(0.1)
  await work(100)
  await work(40)
  assert.deepEqual(pauses, [1, 1])
})

test('1: a pause ends when the event loop has time', async () => {
  const { work, pauses } = createLoop(0.6, 110)
  await work(100)
  // Waits of 1, 2, 4 and 8 ms while it was busy, then one of 16 ms in which it was not.
  assert.deepEqual(pauses, [31])
})

test('2: while the event loop is busy, work gets a third of the time, and no pause exceeds half a second', async () => {
  const { work, pauses } = createLoop(0.6)
  await work(100)
  await work(60)
  await work(10_000)
  assert.deepEqual(pauses, [200, 120, 500])
})

test('short work goes on at once, and counts until the next pause', async () => {
  const { work, pauses } = createLoop(0.6)
  await work(15)
  await work(15)
  assert.deepEqual(pauses, [0, 60])
})

test('the event loop of the process runs other work during a pause', async () => {
  const pause = createPause()
  const untilMs = performance.now() + 25
  while (performance.now() < untilMs);
  let isTimerRun = false
  setTimeout(() => {
    isTimerRun = true
  }, 0)
  await pause()
  assert.ok(isTimerRun)
})
