// Records of feeds that did not fit the contract, for the operator: where, which field, why, how often. The good part of
// their page went in.
import type { StateReader, StateWriter } from '#store/state.ts'
import type { Reject } from './records.ts'

const rowsMax = 10_000
const wordsMax = 300

export async function keepRejects(tx: StateWriter, source: string, rejects: readonly Reject[], nowMs: number) {
  if (rejects.length === 0) return
  for (const { kind, id, place, problems } of rejects) {
    const [problem] = problems
    await tx.run(
      `insert into market_rejects (source, kind, id, field, reason, place, times, first_ms, last_ms)
       values (?, ?, ?, ?, ?, ?, 1, ?, ?)
       on conflict (source, kind, id, field) do update set reason = excluded.reason, place = excluded.place,
         times = market_rejects.times + 1, last_ms = excluded.last_ms`,
      source,
      kind,
      id.slice(0, wordsMax),
      (problem?.at.join('.') ?? '').slice(0, wordsMax),
      (problem?.says ?? '').slice(0, wordsMax),
      place.slice(0, wordsMax),
      nowMs,
      nowMs,
    )
  }
  const count = await tx.get<{ n: number }>('select count(*) as n from market_rejects')
  if ((count?.n ?? 0) <= rowsMax) return
  const oldest = await tx.get<{ last_ms: number }>(
    'select last_ms from market_rejects order by last_ms desc limit 1 offset ?',
    rowsMax,
  )
  if (oldest) await tx.run('delete from market_rejects where last_ms <= ?', oldest.last_ms)
}

export interface RejectRow {
  readonly source: string
  readonly kind: string
  readonly id: string
  readonly field: string
  readonly reason: string
  readonly place: string
  readonly times: number
  readonly firstMs: number
  readonly lastMs: number
}

export const listRejects = (reader: StateReader, max: number): Promise<RejectRow[]> =>
  reader.all<RejectRow>(
    `select source, kind, id, field, reason, place, times, first_ms as "firstMs", last_ms as "lastMs"
     from market_rejects order by last_ms desc, source, kind, id, field limit ?`,
    max,
  )
