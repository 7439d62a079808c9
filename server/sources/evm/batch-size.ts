// The number of calls in one request to a node: the configured maximum, fewer after the node refused them or took too
// long.

/** Successful requests in a row before the size grows again. */
const successesBeforeGrowth = 32

export class BatchSize {
  #max: number
  #now: number
  #successes = 0

  constructor(max: number) {
    this.#max = max
    this.#now = max
  }

  get now(): number {
    return this.#now
  }

  /** The node never accepts this many calls. */
  refuse(calls: number): void {
    this.shrink(calls)
    this.#max = this.#now
  }

  /** These calls were too many this time. */
  shrink(calls: number): void {
    this.#now = Math.max(1, Math.min(this.#now, Math.floor(calls / 2)))
    this.#successes = 0
  }

  succeed(): void {
    if (++this.#successes < successesBeforeGrowth) return
    this.#now = Math.min(this.#max, 2 * this.#now)
    this.#successes = 0
  }
}
