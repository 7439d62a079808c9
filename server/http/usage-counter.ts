// Counts calls by key, endpoint and day. The same counts enforce the daily limits and appear in usage reports. They are
// kept in memory and written to the database several times per second (behaviour/http.md#usage-counters).
//
// 1. `count` is the only place that increases a count, both for enforcing limits and for writing.
// 2. Counts are removed from memory only after their transaction has committed. After a failure they are written again.
// 3. The last-used time of a key is stored at its first call of a minute and at the end of the minute.
// 4. Only valid keys and `anonymous` are counted, so that invalid keys use no memory.
import type { AnyId } from '#api/contract/routes.ts'
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
interface PendingUsage extends Pick<UsageCount, 'day' | 'endpoint' | 'outcome'> {
  /** By key. */
  readonly callsOf: Map<string, number>
}

function* countsOf(tallies: readonly PendingUsage[]): Generator<UsageCount> {
  for (const { callsOf, ...tally } of tallies) {
    for (const [keyId, calls] of callsOf) yield { ...tally, keyId, calls }
  }
}

export type UsageCounter = Awaited<ReturnType<typeof openUsageCounter>>

export async function openUsageCounter({ state, clock, provenTime, log }: Context) {
  let prunedDay = dayOf(provenTime.forDeletions())
  await pruneUsage(state, prunedDay)
  const today = dayOf(clock.now())
  /** Day → key → accepted calls. */
  const accepted = new Map([[today, await findAcceptedByKey(state, today)]])
  let tallies: PendingUsage[] = []
  let lastUsedMs = new Map<string, number>()
  /** For keys whose time was already stored in this minute. */
  let deferredLastUsedMs = new Map<string, number>()
  const storedThisMinute = new Set<string>()
  let ticks = 0
  let writing: Promise<void> | undefined
  let isFailing = false
  const stop = clock.every(writePeriodMs, () => void writeQuietly())

  const acceptedOn = (day: number, keyId: string): number => accepted.get(day)?.get(keyId) ?? 0

  function countsOfDay(day: number): Map<string, number> {
    const counts = accepted.getOrInsertComputed(day, () => new Map<string, number>())
    if (accepted.size > daysInMemory) accepted.delete(accepted.keys().next().value as number)
    return counts
  }

  /** Sets the count of the day to at least `calls`. */
  function raiseTo(day: number, keyId: string, calls: number): void {
    if (calls > acceptedOn(day, keyId)) countsOfDay(day).set(keyId, calls)
  }

  function add(day: number, keyId: string, endpoint: AnyId, outcome: UsageOutcome, calls: number): void {
    let tally = tallies.find((entry) => entry.endpoint === endpoint && entry.outcome === outcome && entry.day === day)
    if (!tally) {
      tally = { day, endpoint, outcome, callsOf: new Map() }
      tallies.push(tally)
    }
    tally.callsOf.set(keyId, (tally.callsOf.get(keyId) ?? 0) + calls)
  }

  function endMinute(): void {
    storedThisMinute.clear()
    lastUsedMs = new Map([...lastUsedMs, ...deferredLastUsedMs])
    deferredLastUsedMs = new Map()
  }

  function writeNow(): Promise<void> {
    writing = write().finally(() => {
      writing = undefined
    })
    return writing
  }

  async function write(): Promise<void> {
    if (tallies.length === 0 && lastUsedMs.size === 0) return
    const written = { tallies, lastUsedMs }
    tallies = []
    lastUsedMs = new Map()
    try {
      await addUsage(state, countsOf(written.tallies), written.lastUsedMs)
    } catch (error) {
      for (const { day, keyId, endpoint, outcome, calls } of countsOf(written.tallies))
        add(day, keyId, endpoint, outcome, calls)
      lastUsedMs = new Map([...written.lastUsedMs, ...lastUsedMs])
      throw error
    }
    for (const keyId of written.lastUsedMs.keys()) storedThisMinute.add(keyId)
    const provenDay = dayOf(provenTime.forDeletions())
    if (provenDay > prunedDay) {
      await pruneUsage(state, provenDay)
      prunedDay = provenDay
    }
  }

  /** Runs periodically. Skips if the last write has not finished, and logs consecutive failures once. */
  async function writeQuietly(): Promise<void> {
    if (writing) return
    ticks += 1
    if (ticks % ticksPerMinute === 0) endMinute()
    try {
      await writeNow()
      isFailing = false
    } catch (error) {
      logFailure(error)
    }
  }

  function logFailure(error: unknown): void {
    if (!isFailing) log.error(failureFields(error), 'cannot write usage; will retry')
    isFailing = true
  }

  /** Stores everything that was counted before this call. */
  async function flush(): Promise<void> {
    while (writing) await writing.catch(() => {})
    endMinute()
    return writeNow()
  }

  return {
    acceptedOn,
    raiseTo,
    flush,
    markUsed(keyId: string, nowMs: number): void {
      const times = storedThisMinute.has(keyId) ? deferredLastUsedMs : lastUsedMs
      times.set(keyId, nowMs)
    },
    /** `soFar`: the count of the day with this call, if it is shared by several processes. It may come out of order. */
    count(keyId: string, endpoint: AnyId, outcome: UsageOutcome, nowMs: number, soFar?: number): void {
      const day = dayOf(nowMs)
      if (outcome === 'accepted') {
        if (soFar === undefined) countsOfDay(day).set(keyId, acceptedOn(day, keyId) + 1)
        else raiseTo(day, keyId, soFar)
      }
      add(day, keyId, endpoint, outcome, 1)
    },
    /** Raises the count of the day to what all processes have stored. If the database fails, it stays unchanged. */
    async reloadFromStore(day: number, keyId: string): Promise<void> {
      try {
        while (writing) await writing.catch(() => {})
        if (tallies.some((tally) => tally.day === day && tally.callsOf.has(keyId))) await writeNow()
        raiseTo(day, keyId, await countAccepted(state, day, keyId))
      } catch (error) {
        logFailure(error)
      }
    },
    async close(): Promise<void> {
      stop()
      await flush()
    },
  }
}
