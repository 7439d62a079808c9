// How long an outage is waited for. Counted from its beginning: of many who wait in line, the last waits no longer than the
// first, and whoever comes later is told at once.
import { systemClock } from '#io/clock.ts'

/** A server that restarts, or hands over to another, is back by then. */
const patienceMs = 5000
const stepMs = 20

export class Patience {
  #sinceMs: number | undefined

  /** After a connection was lost: true, a moment later, when it is worth trying again. */
  async again(): Promise<boolean> {
    const nowMs = systemClock.monotonicMs()
    this.#sinceMs ??= nowMs
    if (nowMs - this.#sinceMs >= patienceMs) return false
    await systemClock.sleep(stepMs)
    return true
  }

  /** Somebody has answered. */
  over(): void {
    this.#sinceMs = undefined
  }
}
