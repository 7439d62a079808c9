// Limits that hold exactly in a rolling window (decision 0004): every admitted call is remembered until it leaves the
// window. Pure: the caller brings the time, which must never go back.
//
// 1. A window is half-open: a call at t counts in [t, t + windowMs) and no longer at t + windowMs.
// 2. A name is forgotten only when all of its calls have left the window, so forgetting never loosens a limit. When there
//    is no room for another name, that name has to wait; nobody else's calls are dropped for it.
// 3. Room follows the calls inside the window: logs grow and shrink with them, names go when they fall silent.

/** The calls of one name that are still inside the window. */
export class SlidingLog {
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
    const leaver = this.#callsMs[this.#callsMs.length - limit] as number
    // Rounding must not turn a refusal into "now".
    return Math.max(leaver + this.#windowMs - nowMs, Number.MIN_VALUE)
  }

  take(nowMs: number): void {
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
export class Windows {
  readonly #windowMs: number
  readonly #namesMax: number
  #young = new Map<string, SlidingLog>()
  #old = new Map<string, SlidingLog>()
  #changedMs = Number.NEGATIVE_INFINITY

  constructor(windowMs: number, namesMax: number) {
    this.#windowMs = windowMs
    this.#namesMax = namesMax
  }

  get size(): number {
    return this.#young.size + this.#old.size
  }

  /** False: this name has no calls inside the window. */
  has(name: string): boolean {
    return this.#young.has(name) || this.#old.has(name)
  }

  /** How long until one more call under this name would keep within `limit`; a whole window when there is no room for it. */
  waitMs(name: string, limit: number, nowMs: number): number {
    return this.#find(name, nowMs)?.waitMs(limit, nowMs) ?? (this.size < this.#namesMax ? 0 : this.#windowMs)
  }

  /** Remembers a call; false when there is no room for its name. */
  take(name: string, nowMs: number): boolean {
    let log = this.#find(name, nowMs)
    if (!log) {
      if (this.size >= this.#namesMax) return false
      log = new SlidingLog(this.#windowMs)
      this.#young.set(name, log)
    }
    log.take(nowMs)
    return true
  }

  #find(name: string, nowMs: number): SlidingLog | undefined {
    if (nowMs - this.#changedMs >= this.#windowMs) this.#change(nowMs)
    const young = this.#young.get(name)
    if (young) return young
    const old = this.#old.get(name)
    if (!old) return undefined
    this.#old.delete(name)
    this.#young.set(name, old)
    return old
  }

  #change(nowMs: number): void {
    this.#old = this.#young
    this.#young = new Map()
    this.#changedMs = nowMs
  }
}
