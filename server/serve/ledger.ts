// Who called what today. One figure serves twice: the daily limit is held against it and usage reports show it. It lives in
// memory and is written behind (decision 0005).
//
// 1. `count` is the only place where a figure grows; what it adds for enforcing it also adds to what will be written.
// 2. Counts leave memory only when their transaction has committed; after a failure they wait for the next one.
// 3. The last-used time of a key is stored at its first call of a minute and at the end of it (decision 0163).
// 4. Only keys known to be good, and `anonymous`, are counted: strangers cannot make this grow.
import type { AnyId } from '#api/routes.ts'
import { failureFields } from '#io/log.ts'
import {
  addUsage,
  admittedOn,
  admittedTo,
  dayOf,
  pruneUsage,
  type UsageCount,
  type UsageOutcome,
} from '#store/usage.ts'
import type { Context } from './context.ts'

const writePeriodMs = 250
const beatsPerMinute = 60_000 / writePeriodMs
/** Yesterday stays, so that a wall clock set back across midnight finds its figures again. */
const daysInMemory = 2

/** What is to be written. Few at a time, found by looking: a name made for each call costs more (decision 0196). */
interface Tally {
  readonly day: number
  readonly endpoint: AnyId
  readonly outcome: UsageOutcome
  /** By key. */
  readonly callsOf: Map<string, number>
}

function* countsOf(tallies: readonly Tally[]): Generator<UsageCount> {
  for (const { callsOf, ...tally } of tallies) {
    for (const [keyId, calls] of callsOf) yield { ...tally, keyId, calls }
  }
}

export class Ledger {
  readonly #context: Context
  /** Day → key → calls admitted. */
  readonly #admitted: Map<number, Map<string, number>>
  #tallies: Tally[] = []
  #lastUsedMs = new Map<string, number>()
  /** Of keys whose time was stored in this minute. */
  #heldBackMs = new Map<string, number>()
  readonly #storedThisMinute = new Set<string>()
  #beats = 0
  #writing: Promise<void> | undefined
  #failing = false
  #prunedDay: number
  readonly #stop: () => void

  static async open(context: Context): Promise<Ledger> {
    const today = dayOf(context.clock.now())
    await pruneUsage(context.state, today)
    return new Ledger(context, today, await admittedOn(context.state, today))
  }

  private constructor(context: Context, today: number, admitted: Map<string, number>) {
    this.#context = context
    this.#admitted = new Map([[today, admitted]])
    this.#prunedDay = today
    this.#stop = context.clock.every(writePeriodMs, () => void this.#writeQuietly())
  }

  admittedOn(day: number, keyId: string): number {
    return this.#admitted.get(day)?.get(keyId) ?? 0
  }

  used(keyId: string, nowMs: number): void {
    const times = this.#storedThisMinute.has(keyId) ? this.#heldBackMs : this.#lastUsedMs
    times.set(keyId, nowMs)
  }

  /** `soFar`: the day's figure with this call, where it is counted for several processes; it may come out of order. */
  count(keyId: string, endpoint: AnyId, outcome: UsageOutcome, nowMs: number, soFar?: number): void {
    const day = dayOf(nowMs)
    if (outcome === 'admitted') {
      if (soFar === undefined) this.#dayFigures(day).set(keyId, this.admittedOn(day, keyId) + 1)
      else this.raise(day, keyId, soFar)
    }
    this.#add(day, keyId, endpoint, outcome, 1)
  }

  /** The day's figure is at least so much. */
  raise(day: number, keyId: string, calls: number): void {
    if (calls > this.admittedOn(day, keyId)) this.#dayFigures(day).set(keyId, calls)
  }

  /** Raises the day's figure to what all processes have stored. Where the store fails, the figure stays as it is. */
  async restore(day: number, keyId: string): Promise<void> {
    try {
      while (this.#writing) await this.#writing.catch(() => {})
      if (this.#tallies.some((tally) => tally.day === day && tally.callsOf.has(keyId))) await this.#writeNow()
      this.raise(day, keyId, await admittedTo(this.#context.state, day, keyId))
    } catch (error) {
      this.#logFailure(error)
    }
  }

  /** Everything counted before this call is stored when it resolves. */
  async flush(): Promise<void> {
    while (this.#writing) await this.#writing.catch(() => {})
    this.#endMinute()
    return this.#writeNow()
  }

  async #writeNow(): Promise<void> {
    this.#writing = this.#write()
    try {
      await this.#writing
    } finally {
      this.#writing = undefined
    }
  }

  async close(): Promise<void> {
    this.#stop()
    await this.flush()
  }

  #endMinute(): void {
    this.#storedThisMinute.clear()
    this.#lastUsedMs = new Map([...this.#lastUsedMs, ...this.#heldBackMs])
    this.#heldBackMs = new Map()
  }

  #dayFigures(day: number): Map<string, number> {
    let figures = this.#admitted.get(day)
    if (!figures) {
      figures = new Map()
      this.#admitted.set(day, figures)
      const [first] = this.#admitted.keys()
      if (this.#admitted.size > daysInMemory && first !== undefined) this.#admitted.delete(first)
    }
    return figures
  }

  #add(day: number, keyId: string, endpoint: AnyId, outcome: UsageOutcome, calls: number): void {
    let tally = this.#tallies.find((one) => one.endpoint === endpoint && one.outcome === outcome && one.day === day)
    if (!tally) {
      tally = { day, endpoint, outcome, callsOf: new Map() }
      this.#tallies.push(tally)
    }
    tally.callsOf.set(keyId, (tally.callsOf.get(keyId) ?? 0) + calls)
  }

  async #write(): Promise<void> {
    if (this.#tallies.length === 0 && this.#lastUsedMs.size === 0) return
    const tallies = this.#tallies
    const lastUsedMs = this.#lastUsedMs
    this.#tallies = []
    this.#lastUsedMs = new Map()
    try {
      await addUsage(this.#context.state, countsOf(tallies), lastUsedMs)
    } catch (error) {
      for (const { day, keyId, endpoint, outcome, calls } of countsOf(tallies)) {
        this.#add(day, keyId, endpoint, outcome, calls)
      }
      this.#lastUsedMs = new Map([...lastUsedMs, ...this.#lastUsedMs])
      throw error
    }
    for (const keyId of lastUsedMs.keys()) this.#storedThisMinute.add(keyId)
    const today = dayOf(this.#context.clock.now())
    if (today > this.#prunedDay) {
      await pruneUsage(this.#context.state, today)
      this.#prunedDay = today
    }
  }

  /** On the clock's beat: a write that takes longer is not overtaken, and one long trouble is told once. */
  async #writeQuietly(): Promise<void> {
    if (this.#writing) return
    this.#beats += 1
    if (this.#beats % beatsPerMinute === 0) this.#endMinute()
    try {
      await this.#writeNow()
      this.#failing = false
    } catch (error) {
      this.#logFailure(error)
    }
  }

  #logFailure(error: unknown): void {
    if (!this.#failing)
      this.#context.log.error(failureFields(error), 'usage cannot be written; it is kept and tried again')
    this.#failing = true
  }
}
