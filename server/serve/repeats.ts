// What goes wrong with every call is said once a minute, with how often it was: a log that is flooded on a full disk
// tells nobody anything, and fills it further.
import type { Clock } from '#io/clock.ts'

const periodMs = 60_000
const causesMax = 100

export class Repeats {
  readonly #clock: Pick<Clock, 'monotonicMs'>
  readonly #said = new Map<string, { atMs: number; since: number }>()

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock
  }

  /** How often it was since it was last said, this time included; undefined: it was said less than `againMs` ago. */
  due(words: string, againMs = periodMs): number | undefined {
    // Two causes that differ in a count are one.
    const cause = words.replaceAll(/\d+/g, '#')
    const nowMs = this.#clock.monotonicMs()
    const said = this.#said.get(cause)
    if (said && nowMs - said.atMs < againMs) {
      said.since += 1
      return undefined
    }
    if (this.#said.size >= causesMax) this.#said.clear()
    this.#said.set(cause, { atMs: nowMs, since: 0 })
    return (said?.since ?? 0) + 1
  }
}
