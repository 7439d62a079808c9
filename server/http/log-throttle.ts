// Limits log lines for errors that occur with every call: one line per minute, with a count.
import type { Clock } from '#runtime/clock.ts'

const periodMs = 60_000
const causesMax = 100

export class LogThrottle {
  readonly #clock: Pick<Clock, 'monotonicMs'>
  readonly #logged = new Map<string, { atMs: number; suppressed: number }>()

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock
  }

  /** The number of occurrences since the last line, including this one; undefined: do not log. */
  countToLog(message: string, intervalMs = periodMs): number | undefined {
    // Messages that differ only in numbers have the same cause.
    const cause = message.replaceAll(/\d+/g, '#')
    const nowMs = this.#clock.monotonicMs()
    const last = this.#logged.get(cause)
    if (last && nowMs - last.atMs < intervalMs) {
      last.suppressed += 1
      return undefined
    }
    if (this.#logged.size >= causesMax) this.#logged.clear()
    this.#logged.set(cause, { atMs: nowMs, suppressed: 0 })
    return (last?.suppressed ?? 0) + 1
  }
}
