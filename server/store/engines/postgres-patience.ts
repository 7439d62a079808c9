// How long an outage is waited for. Counted from its beginning: of many who wait in line, the last waits no longer than the
// first, and whoever comes later is told at once.
import { systemClock } from '#io/clock.ts'
import { Lost } from './postgres-faults.ts'

/** A server that restarts, or hands over to another, is usually back by then. */
export const patienceMs = 15_000
const stepMs = 20

export class Patience {
  readonly #patienceMs: number
  #sinceMs: number | undefined

  constructor(waitMs: number) {
    this.#patienceMs = waitMs
  }

  /** Does `work`, and does it again when its connection was lost, until the time is up. */
  async through<T>(work: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        const result = await work()
        this.#sinceMs = undefined
        return result
      } catch (error) {
        if (!(error instanceof Lost && (await this.#again()))) throw error
      }
    }
  }

  async #again(): Promise<boolean> {
    const nowMs = systemClock.monotonicMs()
    this.#sinceMs ??= nowMs
    if (nowMs - this.#sinceMs >= this.#patienceMs) return false
    await systemClock.sleep(stepMs)
    return true
  }
}
