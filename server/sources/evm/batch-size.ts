// The number of calls in one request to a node: the configured maximum, fewer after the node refused them or took too
// long. Requests for large results begin with few calls, and get more of them as long as the responses are small.

/** Successful requests in a row before the size grows again. */
const successesBeforeGrowth = 32

export class BatchSize {
  #max: number
  #now: number
  readonly #first: number
  /** As many calls as have a response of the intended size. */
  #fitting: number
  #successes = 0

  /** `first`: the size of the first requests. `measure` may raise it up to `max`. */
  constructor(max: number, first = max) {
    this.#max = max
    this.#now = max
    this.#first = first
    this.#fitting = first
  }

  get now(): number {
    return Math.min(this.#now, this.#fitting)
  }

  /** Adapts the size to the response, so that the next one has about `goalBytes`. It at most doubles. */
  measure(calls: number, bytes: number, goalBytes: number): void {
    const fitting = Math.floor((goalBytes * calls) / bytes)
    this.#fitting = Math.max(this.#first, Math.min(fitting, Math.max(this.#fitting, 2 * calls)))
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
