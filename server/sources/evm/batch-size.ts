// How many calls one request to a node carries: as many as allowed, fewer after the node refused them or took too long.

/** So many requests in a row have to succeed before more calls are tried again. */
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

  /** The node does not take that many, whatever they are. */
  refuse(calls: number): void {
    this.shrink(calls)
    this.#max = this.#now
  }

  /** That many were too much this time. */
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
