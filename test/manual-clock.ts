// A clock that stands still until `advance` moves it, which runs what is due in order of time. Its wall time can be wrong.
import type { Clock } from '#runtime/clock.ts'

export class ManualClock implements Clock {
  #nowMs: number
  readonly #startMs: number
  /** Added to the wall time only. */
  wrongByMs = 0
  #waiting: { atMs: number; wake: () => void }[] = []

  constructor(nowMs: number) {
    this.#nowMs = nowMs
    this.#startMs = nowMs
  }

  now(): number {
    return this.#nowMs + this.wrongByMs
  }

  monotonicMs(): number {
    return this.#nowMs - this.#startMs
  }

  sleep(waitMs: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted) return resolve()
      this.#waiting.push({ atMs: this.#nowMs + waitMs, wake: resolve })
      signal?.addEventListener('abort', () => resolve(), { once: true })
    })
  }

  every(periodMs: number, work: () => void): () => void {
    let stopped = false
    const again = () => {
      if (stopped) return
      this.#waiting.push({
        atMs: this.#nowMs + periodMs,
        wake: () => {
          if (!stopped) work()
          again()
        },
      })
    }
    again()
    return () => {
      stopped = true
    }
  }

  advance(byMs: number): void {
    const untilMs = this.#nowMs + byMs
    for (;;) {
      this.#waiting.sort((a, b) => a.atMs - b.atMs)
      const first = this.#waiting[0]
      if (!first || first.atMs > untilMs) break
      this.#waiting.shift()
      this.#nowMs = Math.max(this.#nowMs, first.atMs)
      first.wake()
    }
    this.#nowMs = untilMs
  }
}
