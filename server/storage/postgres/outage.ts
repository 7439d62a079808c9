// How long an outage is waited for. Counted from its beginning: of many who wait in line, the last waits no longer than the
// first, and whoever comes later is told at once.
import { systemClock } from '#runtime/clock.ts'
import { ConnectionLost } from './errors.ts'

/** A server that restarts, or hands over to another, is usually back by then. */
export const outageWaitMs = 15_000
const stepMs = 20

export class OutageRetry {
  readonly #waitMs: number
  #sinceMs: number | undefined

  constructor(waitMs: number) {
    this.#waitMs = waitMs
  }

  /** Does `work`, and does it again when its connection was lost, until the time is up. */
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
