// Pauses between transactions. SQLite has no queue for the lock of a file: others try again every two milliseconds
// (retry-while-busy.ts). If a connection began each transaction right after the previous one, they would find the file
// locked until their time is over.
import { systemClock } from '#runtime/clock.ts'

/** A little longer than the time between two tries of others. */
const pauseMs = 5
/** After writing for so long, there is a pause. Far less than the time that others wait for a file. */
const withoutPauseMs = 100

export class Pauses {
  #endedMs = Number.NEGATIVE_INFINITY
  /** End of the last time without a transaction that was long enough for others. */
  #lastPauseMs = Number.NEGATIVE_INFINITY

  async beforeTransaction(): Promise<void> {
    const nowMs = systemClock.monotonicMs()
    if (nowMs - this.#endedMs >= pauseMs) this.#lastPauseMs = nowMs
    else if (nowMs - this.#lastPauseMs >= withoutPauseMs) {
      await systemClock.sleep(pauseMs)
      this.#lastPauseMs = systemClock.monotonicMs()
    }
  }

  afterTransaction(): void {
    this.#endedMs = systemClock.monotonicMs()
  }
}
