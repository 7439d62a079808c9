// Stored counts of calls by UTC day, key, endpoint and outcome. The server adds to them several times per second and
// enforces daily limits with the same counts (behaviour/http.md#usage-counters). Reports read them from any process.
import type { AnyId } from '#api/contract/routes.ts'
import { writeLastUsed } from './keys.ts'
import type { State, StateReader } from './state.ts'

/** Refusals of valid keys, which are counted. */
export const refusals = ['key.group', 'plan.too_low', 'limit.second', 'limit.day'] as const
export type Refusal = (typeof refusals)[number]
export type UsageOutcome = 'accepted' | Refusal

export const dayMs = 86_400_000
/** Rows of older days are deleted. A day has at most one row per key, endpoint and outcome. */
export const usageDaysKept = 400

export interface UsageCount {
  /** Days since 1970, UTC. */
  readonly day: number
  readonly keyId: string
  readonly endpoint: AnyId
  readonly outcome: UsageOutcome
  calls: number
}

interface UsageTotals {
  accepted: number
  readonly refused: Record<Refusal, number>
}

/** One key on one day. */
export interface UsageDay extends UsageTotals {
  readonly keyId: string
  /** UTC, `2026-11-15`. */
  readonly day: string
  readonly endpoints: Partial<Record<AnyId, UsageTotals>>
}

export const dayOf = (atMs: number): number => Math.floor(atMs / dayMs)
const dayText = (day: number): string => new Date(day * dayMs).toISOString().slice(0, 10)

/** Adds counts and sets last-used times in one transaction. */
export async function addUsage(
  state: State,
  counts: Iterable<UsageCount>,
  lastUsedMs: ReadonlyMap<string, number>,
): Promise<void> {
  const texts = new Map<number, string>()
  const rows = Array.from(counts, ({ day, keyId, endpoint, outcome, calls }) => {
    return [texts.getOrInsertComputed(day, dayText), keyId, endpoint, outcome, calls] as const
  })
  // Servers that add to the same rows in the same order do not wait for each other in a circle.
  rows.sort((one, other) => (one.join() < other.join() ? -1 : 1))
  await state.write(async (tx) => {
    await tx.insertMany(
      'usage',
      ['day', 'key_id', 'endpoint', 'outcome', 'calls'],
      rows,
      'on conflict (day, key_id, endpoint, outcome) do update set calls = usage.calls + excluded.calls',
    )
    await writeLastUsed(tx, lastUsedMs)
  })
}

/** Accepted calls of a day by key, of all keys or of one, for daily limits. */
export async function findAcceptedByKey(state: StateReader, day: number, keyId?: string): Promise<Map<string, number>> {
  const rows = await state.all<{ key_id: string; calls: number }>(
    `select key_id, cast(sum(calls) as bigint) as calls from usage
     where day = ? ${keyId === undefined ? '' : 'and key_id = ?'} and outcome = 'accepted' group by key_id`,
    ...[dayText(day), ...(keyId === undefined ? [] : [keyId])],
  )
  return new Map(rows.map(({ key_id, calls }) => [key_id, calls]))
}

export const countAccepted = async (state: StateReader, day: number, keyId: string): Promise<number> =>
  (await findAcceptedByKey(state, day, keyId)).get(keyId) ?? 0

export async function pruneUsage(state: State, today: number): Promise<void> {
  await state.write((tx) => tx.run('delete from usage where day <= ?', dayText(today - usageDaysKept)))
}

/** The last `days` UTC days including today, newest first, then by key. Days without calls are omitted. */
export async function usageOf(
  state: StateReader,
  query: { readonly keyId?: string | undefined; readonly days: number; readonly nowMs: number },
): Promise<UsageDay[]> {
  const { keyId, nowMs } = query
  const days = Math.min(query.days, usageDaysKept)
  const rows = await state.all<{ day: string; key_id: string; endpoint: AnyId; outcome: string; calls: number }>(
    `select day, key_id, endpoint, outcome, calls from usage
     where day > ? and day <= ? ${keyId === undefined ? '' : 'and key_id = ?'} order by day desc, key_id, endpoint`,
    ...[dayText(dayOf(nowMs) - days), dayText(dayOf(nowMs)), ...(keyId === undefined ? [] : [keyId])],
  )
  const byDayAndKey = new Map<string, UsageDay>()
  for (const { day, key_id, endpoint, outcome, calls } of rows) {
    const name = `${day} ${key_id}`
    const entry = byDayAndKey.getOrInsertComputed(name, () => ({ keyId: key_id, day, ...emptyTotals(), endpoints: {} }))
    entry.endpoints[endpoint] ??= emptyTotals()
    for (const tally of [entry, entry.endpoints[endpoint]]) {
      if (outcome === 'accepted') tally.accepted += calls
      else tally.refused[outcome as Refusal] += calls
    }
  }
  return [...byDayAndKey.values()]
}

const emptyTotals = (): UsageTotals => ({
  accepted: 0,
  refused: { 'key.group': 0, 'plan.too_low': 0, 'limit.second': 0, 'limit.day': 0 },
})
