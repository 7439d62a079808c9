// What goes wrong with every call is said once a minute, with how often it was: a log that is flooded on a full disk
// tells nobody anything, and fills it further.
import type { Clock } from '#runtime/clock.ts'

const periodMs = 60_000
const causesMax = 100

export class LogThrottle {
  readonly #clock: Pick<Clock, 'monotonicMs'>
  readonly #logged = new Map<string, { atMs: number; since: number }>()

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock
  }

  /** How often it was since it was last said, this time included; undefined: it was said less than `againMs` ago. */
  due(message: string, intervalMs = periodMs): number | undefined {
    // Two causes that differ in a count are one.
    const cause = message.replaceAll(/\d+/g, '#')
    const nowMs = this.#clock.monotonicMs()
    const last = this.#logged.get(cause)
    if (last && nowMs - last.atMs < intervalMs) {
      last.since += 1
      return undefined
    }
    if (this.#logged.size >= causesMax) this.#logged.clear()
    this.#logged.set(cause, { atMs: nowMs, since: 0 })
    return (last?.since ?? 0) + 1
  }
}
