// The clock that all code uses, so that tests can control time.

export interface Clock {
  /** Unix milliseconds. */
  now(): number
  /** Never goes back; only differences are meaningful. */
  monotonicMs(): number
  /** Resolves after `waitMs`, or when the signal aborts. */
  sleep(waitMs: number, signal?: AbortSignal): Promise<void>
  /** Calls `work` every `periodMs` until the returned function is called. Never keeps the process alive. */
  every(periodMs: number, work: () => void): () => void
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  sleep(waitMs, signal) {
    return new Promise((resolve) => {
      if (signal?.aborted) return resolve()
      const timer = setTimeout(done, waitMs)
      signal?.addEventListener('abort', done, { once: true })
      function done() {
        clearTimeout(timer)
        signal?.removeEventListener('abort', done)
        resolve()
      }
    })
  },
  every(periodMs, work) {
    const timer = setInterval(work, periodMs)
    timer.unref()
    return () => clearInterval(timer)
  },
}

/** Resolves after everything that is ready now has run. Independent of the clock. */
export const nextEventLoopTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** A clock for tests. `advance` moves it and runs what is due in order of time. */
export class ManualClock implements Clock {
  #nowMs: number
  readonly #startMs: number
  #waiting: { atMs: number; wake: () => void }[] = []

  constructor(nowMs: number) {
    this.#nowMs = nowMs
    this.#startMs = nowMs
  }

  now(): number {
    return this.#nowMs
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
