// A clock that runs with real time, can be moved forward, and whose wall time can be wrong. Sleeps that are over after a
// move end at once. For servers that a test leads through days.
import type { Clock } from '#runtime/clock.ts'

interface Sleep {
  /** By `monotonicMs`. */
  readonly dueMs: number
  readonly wake: () => void
  timer?: NodeJS.Timeout
}

/** The longest time of a timer. */
const timerMaxMs = 2 ** 31 - 1

export class DrivenClock implements Clock {
  readonly #sleeps = new Set<Sleep>()
  readonly #firstMs: number
  #aheadMs: number
  /** Added to the wall time only. */
  wrongByMs = 0

  /** `aheadMs`: how far it is ahead of the system's wall time. */
  constructor(aheadMs: number) {
    this.#firstMs = aheadMs
    this.#aheadMs = aheadMs
  }

  now(): number {
    return Math.floor(Date.now() + this.#aheadMs + this.wrongByMs)
  }

  monotonicMs(): number {
    return performance.now() + this.#aheadMs - this.#firstMs
  }

  sleep(waitMs: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted) return resolve()
      const wake = () => {
        clearTimeout(sleep.timer)
        this.#sleeps.delete(sleep)
        signal?.removeEventListener('abort', wake)
        resolve()
      }
      const sleep: Sleep = { dueMs: this.monotonicMs() + waitMs, wake }
      this.#sleeps.add(sleep)
      signal?.addEventListener('abort', wake, { once: true })
      this.#setTimer(sleep)
    })
  }

  every(periodMs: number, work: () => void): () => void {
    const timer = setInterval(work, periodMs)
    timer.unref()
    return () => clearInterval(timer)
  }

  moveTo(aheadMs: number): void {
    this.#aheadMs = aheadMs
    const nowMs = this.monotonicMs()
    for (const sleep of [...this.#sleeps].sort((a, b) => a.dueMs - b.dueMs)) {
      if (sleep.dueMs <= nowMs) sleep.wake()
      else this.#setTimer(sleep)
    }
  }

  #setTimer(sleep: Sleep): void {
    clearTimeout(sleep.timer)
    sleep.timer = setTimeout(sleep.wake, Math.min(Math.max(0, sleep.dueMs - this.monotonicMs()), timerMaxMs))
  }
}
