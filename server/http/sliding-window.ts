// Limits that hold exactly in a rolling window (decisions/enforce-limits-in-any-rolling-second.md): every admitted call is remembered until it leaves the
// window. Pure: the caller brings the time, which must never go back.
//
// 1. A window is half-open: a call at t counts in [t, t + windowMs) and no longer at t + windowMs.
// 2. A name is forgotten only when all of its calls have left the window, so forgetting never loosens a limit. When there
//    is no room for another name, that name has to wait; nobody else's calls are dropped for it.
// 3. Room follows the calls inside the window: logs grow and shrink with them, names go when they fall silent.

/** The calls of one name that are still inside the window. */
export class SlidingWindow {
  readonly #windowMs: number
  /** Oldest first. Those before `#first` have left the window. */
  #callsMs: number[] = []
  #first = 0

  constructor(windowMs: number) {
    this.#windowMs = windowMs
  }

  /** How long until one more call would keep within `limit`; 0 when it does now. */
  waitMs(limit: number, nowMs: number): number {
    this.#dropUntil(nowMs - this.#windowMs)
    if (this.#callsMs.length - this.#first < limit) return 0
    // Room comes when only limit - 1 calls are left, which is when this one leaves.
    const oldest = this.#callsMs[this.#callsMs.length - limit] as number
    // Rounding must not turn a refusal into "now".
    return Math.max(oldest + this.#windowMs - nowMs, Number.MIN_VALUE)
  }

  add(nowMs: number): void {
    // Most names call once: a literal has room for one, while the first `push` makes room for many.
    if (this.#callsMs.length === 0) this.#callsMs = [nowMs]
    else this.#callsMs.push(nowMs)
  }

  /** Forgets calls made at or before `untilMs`; moving the rest costs no more than having taken them. */
  #dropUntil(untilMs: number): void {
    const calls = this.#callsMs
    while (this.#first < calls.length && (calls[this.#first] as number) <= untilMs) this.#first += 1
    if (this.#first === 0 || this.#first * 2 < calls.length) return
    this.#callsMs = calls.slice(this.#first)
    this.#first = 0
  }
}

/**
 * A sliding log for each of many names. Names live in two generations that change places at most once a window: whoever
 * was not asked about since the last change has been silent for a whole window and goes at the next one.
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

  /** False: this name has no calls inside the window. */
  has(name: string): boolean {
    return this.#current.has(name) || this.#previous.has(name)
  }

  /** How long until one more call under this name would keep within `limit`; a whole window when there is no room for it. */
  waitMs(name: string, limit: number, nowMs: number): number {
    return this.#find(name, nowMs)?.waitMs(limit, nowMs) ?? (this.size < this.#namesMax ? 0 : this.#windowMs)
  }

  /** Remembers a call; false when there is no room for its name. */
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
    const young = this.#current.get(name)
    if (young) return young
    const old = this.#previous.get(name)
    if (!old) return undefined
    this.#previous.delete(name)
    this.#current.set(name, old)
    return old
  }

  #rotate(nowMs: number): void {
    this.#previous = this.#current
    this.#current = new Map()
    this.#rotatedMs = nowMs
  }
}
