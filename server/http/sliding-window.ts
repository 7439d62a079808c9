// Exact limits in a rolling window (decisions/enforce-limits-in-any-rolling-second.md): every accepted call is recorded
// until it leaves the window. The caller passes the time, which must not go back.
//
// 1. A call at t counts in [t, t + windowMs).
// 2. A name is removed only when all its calls have left the window, so that its limit always holds. If there are too
//    many names, a new name has to wait.
// 3. Memory is proportional to the calls inside the window.

/** The calls of one name that are still inside the window. */
export class SlidingWindow {
  readonly #windowMs: number
  /** Oldest first. Those before `#first` have left the window. */
  #callsMs: number[] = []
  #first = 0

  constructor(windowMs: number) {
    this.#windowMs = windowMs
  }

  /** How long until one more call is within `limit`; 0: now. */
  waitMs(limit: number, nowMs: number): number {
    this.#dropUntil(nowMs - this.#windowMs)
    if (this.#callsMs.length - this.#first < limit) return 0
    // The next call is possible when this one leaves the window, because then limit - 1 calls are left.
    const oldest = this.#callsMs[this.#callsMs.length - limit] as number
    // In this order, rounding never gives more than the window. It must not give 0 either.
    return Math.max(this.#windowMs - (nowMs - oldest), Number.MIN_VALUE)
  }

  add(nowMs: number): void {
    // Most names have one call. A literal allocates one element, while the first `push` allocates many.
    if (this.#callsMs.length === 0) this.#callsMs = [nowMs]
    else this.#callsMs.push(nowMs)
  }

  /** Removes calls made at or before `untilMs`, in amortized constant time. */
  #dropUntil(untilMs: number): void {
    const calls = this.#callsMs
    while (this.#first < calls.length && (calls[this.#first] as number) <= untilMs) this.#first += 1
    if (this.#first === 0 || this.#first * 2 < calls.length) return
    this.#callsMs = calls.slice(this.#first)
    this.#first = 0
  }
}

/**
 * A sliding window for each of many names. Names are in two generations that rotate at most once per window. A name that
 * was not used since the last rotation has no calls inside the window and is removed with the next one.
 */
export class SlidingWindows {
  readonly #windowMs: number
  readonly #namesMax: number
  #current = new Map<string, SlidingWindow>()
  #previous = new Map<string, SlidingWindow>()
  #rotatedMs = Number.NEGATIVE_INFINITY

  constructor(windowMs: number, namesMax: number) {
    this.#windowMs = windowMs
    this.#namesMax = namesMax
  }

  get size(): number {
    return this.#current.size + this.#previous.size
  }

  /** How long until one more call of this name is within `limit`; `windowMs` if there are too many names. */
  waitMs(name: string, limit: number, nowMs: number): number {
    return this.#find(name, nowMs)?.waitMs(limit, nowMs) ?? (this.size < this.#namesMax ? 0 : this.#windowMs)
  }

  /** Records a call; false if there are too many names. */
  add(name: string, nowMs: number): boolean {
    let window = this.#find(name, nowMs)
    if (!window) {
      if (this.size >= this.#namesMax) return false
      window = new SlidingWindow(this.#windowMs)
      this.#current.set(name, window)
    }
    window.add(nowMs)
    return true
  }

  #find(name: string, nowMs: number): SlidingWindow | undefined {
    if (nowMs - this.#rotatedMs >= this.#windowMs) this.#rotate(nowMs)
    const current = this.#current.get(name)
    if (current) return current
    const previous = this.#previous.get(name)
    if (!previous) return undefined
    this.#previous.delete(name)
    this.#current.set(name, previous)
    return previous
  }

  #rotate(nowMs: number): void {
    this.#previous = this.#current
    this.#current = new Map()
    this.#rotatedMs = nowMs
  }
}
