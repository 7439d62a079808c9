// Counts calls by key, endpoint and day. The same counts enforce the daily limits and appear in usage reports. They are
// kept in memory and written to the database several times per second (behaviour/http.md#usage-counters).
//
// 1. `count` is the only place that increases a count, both for enforcing limits and for writing.
// 2. Counts are removed from memory only after their transaction has committed. After a failure they are written again.
// 3. The last-used time of a key is stored at its first call of a minute and at the end of the minute.
// 4. Only valid keys and `anonymous` are counted, so that invalid keys use no memory.
import type { AnyId } from '#api/routes.ts'
import { failureFields } from '#runtime/failure-fields.ts'
import {
  addUsage,
  countAccepted,
  dayOf,
  findAcceptedByKey,
  pruneUsage,
  type UsageCount,
  type UsageOutcome,
} from '#storage/usage.ts'
import type { Context } from './context.ts'

const writePeriodMs = 250
const ticksPerMinute = 60_000 / writePeriodMs
/** Yesterday is kept in case the clock is set back across midnight. */
const daysInMemory = 2

/** Counts to be written. There are few, so a list is faster than a map (decisions/accept-the-cost-of-checks-on-every-request.md). */
interface PendingUsage {
  readonly day: number
  readonly endpoint: AnyId
  readonly outcome: UsageOutcome
  /** By key. */
  readonly callsOf: Map<string, number>
}

function* countsOf(tallies: readonly PendingUsage[]): Generator<UsageCount> {
  for (const { callsOf, ...tally } of tallies) {
    for (const [keyId, calls] of callsOf) yield { ...tally, keyId, calls }
  }
}

export class UsageCounter {
  readonly #context: Context
  /** Day → key → accepted calls. */
  readonly #accepted: Map<number, Map<string, number>>
  #tallies: PendingUsage[] = []
  #lastUsedMs = new Map<string, number>()
  /** For keys whose time was already stored in this minute. */
  #deferredLastUsedMs = new Map<string, number>()
  readonly #storedThisMinute = new Set<string>()
  #ticks = 0
  #writing: Promise<void> | undefined
  #failing = false
  #prunedDay: number
  readonly #stop: () => void

  static async open(context: Context): Promise<UsageCounter> {
    const today = dayOf(context.clock.now())
    await pruneUsage(context.state, today)
    return new UsageCounter(context, today, await findAcceptedByKey(context.state, today))
  }

  private constructor(context: Context, today: number, accepted: Map<string, number>) {
    this.#context = context
    this.#accepted = new Map([[today, accepted]])
    this.#prunedDay = today
    this.#stop = context.clock.every(writePeriodMs, () => void this.#writeQuietly())
  }

  acceptedOn(day: number, keyId: string): number {
    return this.#accepted.get(day)?.get(keyId) ?? 0
  }

  markUsed(keyId: string, nowMs: number): void {
    const times = this.#storedThisMinute.has(keyId) ? this.#deferredLastUsedMs : this.#lastUsedMs
    times.set(keyId, nowMs)
  }

  /** `soFar`: the count of the day including this call, if it is shared by several processes. It may come out of order. */
  count(keyId: string, endpoint: AnyId, outcome: UsageOutcome, nowMs: number, soFar?: number): void {
    const day = dayOf(nowMs)
    if (outcome === 'accepted') {
      if (soFar === undefined) this.#countsOfDay(day).set(keyId, this.acceptedOn(day, keyId) + 1)
      else this.raiseTo(day, keyId, soFar)
    }
    this.#add(day, keyId, endpoint, outcome, 1)
  }

  /** Sets the count of the day to at least `calls`. */
  raiseTo(day: number, keyId: string, calls: number): void {
    if (calls > this.acceptedOn(day, keyId)) this.#countsOfDay(day).set(keyId, calls)
  }

  /** Raises the count of the day to what all processes have stored. If the database fails, the count stays unchanged. */
  async reloadFromStore(day: number, keyId: string): Promise<void> {
    try {
      while (this.#writing) await this.#writing.catch(() => {})
      if (this.#tallies.some((tally) => tally.day === day && tally.callsOf.has(keyId))) await this.#writeNow()
      this.raiseTo(day, keyId, await countAccepted(this.#context.state, day, keyId))
    } catch (error) {
      this.#logFailure(error)
    }
  }

  /** Stores everything that was counted before this call. */
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
    this.#lastUsedMs = new Map([...this.#lastUsedMs, ...this.#deferredLastUsedMs])
    this.#deferredLastUsedMs = new Map()
  }

  #countsOfDay(day: number): Map<string, number> {
    let counts = this.#accepted.get(day)
    if (!counts) {
      counts = new Map()
      this.#accepted.set(day, counts)
      const [first] = this.#accepted.keys()
      if (this.#accepted.size > daysInMemory && first !== undefined) this.#accepted.delete(first)
    }
    return counts
  }

  #add(day: number, keyId: string, endpoint: AnyId, outcome: UsageOutcome, calls: number): void {
    let tally = this.#tallies.find(
      (entry) => entry.endpoint === endpoint && entry.outcome === outcome && entry.day === day,
    )
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

  /** Runs periodically. Skips if the last write has not finished, and logs consecutive failures once. */
  async #writeQuietly(): Promise<void> {
    if (this.#writing) return
    this.#ticks += 1
    if (this.#ticks % ticksPerMinute === 0) this.#endMinute()
    try {
      await this.#writeNow()
      this.#failing = false
    } catch (error) {
      this.#logFailure(error)
    }
  }

  #logFailure(error: unknown): void {
    if (!this.#failing) this.#context.log.error(failureFields(error), 'cannot write usage; will retry')
    this.#failing = true
  }
}
