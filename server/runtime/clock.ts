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
  // Unlike performance.now(), the same in all threads of the process.
  monotonicMs: () => Number(process.hrtime.bigint()) / 1e6,
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

/** A signal that aborts after `timeoutMs`. It never keeps the process alive. */
export function timeoutSignal(clock: Pick<Clock, 'every'>, timeoutMs: number): AbortSignal {
  const timeout = new AbortController()
  const stop = clock.every(timeoutMs, () => {
    stop()
    timeout.abort(new Error(`not done within ${timeoutMs} ms`))
  })
  return timeout.signal
}

/** The result of the work, or an error if it takes longer. The work itself goes on. */
export async function withTimeout<T>(clock: Pick<Clock, 'sleep'>, timeoutMs: number, work: Promise<T>): Promise<T> {
  const over = new AbortController()
  const late = async (): Promise<never> => {
    await clock.sleep(timeoutMs, over.signal)
    // If this process was busy, first read what has arrived.
    await nextEventLoopTurn()
    throw new Error(`no reply within ${timeoutMs} ms`)
  }
  try {
    return await Promise.race([work, late()])
  } finally {
    over.abort()
  }
}
