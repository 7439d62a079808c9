// Pauses between the transactions of long work while requests keep the event loop busy. Without pauses, a feed that is
// read on a busy server takes all the time that requests leave, and they queue
// (behaviour/markets.md#feed-passes).
//
// 1. A pause ends as soon as the event loop has time. An idle server pauses for a millisecond.
// 2. It is at most twice as long as the work before it, so the work gets a third of the time and always goes on.
import { performance } from 'node:perf_hooks'
import { nextEventLoopTurn } from './clock.ts'

export interface EventLoop {
  nowMs(): number
  /** Waits, and returns the share of that time in which the event loop was busy. */
  wait(ms: number): Promise<number>
}

/** Work that takes less time goes on in the next turn of the event loop. */
const workMinMs = 20
/** If it is busy for less than this share of the time, the event loop has time. */
const busyShareMin = 0.4
/** The limit of a pause, as a multiple of the work before it and in absolute terms. */
const pausePerWork = 2
const pauseMaxMs = 500

const eventLoop: EventLoop = {
  nowMs: () => performance.now(),
  wait(ms) {
    const before = performance.eventLoopUtilization()
    return new Promise((resolve) => {
      setTimeout(() => resolve(performance.eventLoopUtilization(before).utilization), ms)
    })
  },
}

/** For work that is done before the server listens: there are no requests to pause for. */
export const idleEventLoop: EventLoop = { nowMs: () => 0, wait: async () => 0 }

/** Returns a function to call between two transactions. */
export function createPause(loop: EventLoop = eventLoop): () => Promise<void> {
  let workStartMs = loop.nowMs()
  return async () => {
    const startMs = loop.nowMs()
    const workedMs = startMs - workStartMs
    if (workedMs < workMinMs) return nextEventLoopTurn()
    const endMs = startMs + Math.min(pausePerWork * workedMs, pauseMaxMs)
    for (let waitMs = 1; loop.nowMs() < endMs; waitMs *= 2) {
      const busyShare = await loop.wait(Math.min(waitMs, endMs - loop.nowMs()))
      if (busyShare < busyShareMin) break
    }
    workStartMs = loop.nowMs()
  }
}
