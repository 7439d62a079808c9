// Retries work during an outage of PostgreSQL. The waiting time is counted from the start of the outage: all callers wait
// until the same time, and later ones fail at once.
import { systemClock } from '#runtime/clock.ts'
import { ConnectionLost } from './errors.ts'

/** Enough for most restarts and failovers. */
export const outageWaitMs = 15_000
const stepMs = 20

export class OutageRetry {
  readonly #waitMs: number
  #sinceMs: number | undefined

  constructor(waitMs: number) {
    this.#waitMs = waitMs
  }

  /** Repeats `work` while its connection is lost, until the time is up. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        const result = await work()
        this.#sinceMs = undefined
        return result
      } catch (error) {
        if (!(error instanceof ConnectionLost && (await this.#waitToRetry()))) throw error
      }
    }
  }

  async #waitToRetry(): Promise<boolean> {
    const nowMs = systemClock.monotonicMs()
    this.#sinceMs ??= nowMs
    if (nowMs - this.#sinceMs >= this.#waitMs) return false
    await systemClock.sleep(stepMs)
    return true
  }
}
