// Reads the history: one version per change of a record, with only the fields that changed. 4.8 with `asOf` and the
// lists of changes use it; write/version-writer.ts appends to it.
//
// 1. A version is written in the transaction that changes the record, so the history and the records always agree.
// 2. Numbers and times of versions only increase, even if the clock is set back. So a time corresponds to a number.
// 3. A change is stored once, with its record, not with every document that shows the record
//    (decisions/store-market-versions-as-differences.md).
// 4. Versions are deleted oldest first, and the time from which the history is complete is stored with it.
import type { StateReader } from '#storage/state.ts'
import type { ChangeType } from '../records/diff-records.ts'
import type { KindName } from '../records/kinds.ts'

/** A version as it is stored. */
export interface VersionRow {
  readonly seq: number
  readonly atMs: number
  readonly kind: KindName
  readonly id: string
  readonly changeType: ChangeType
  /** A `Diff` as JSON. */
  readonly diff: string
}
/** The columns of a VersionRow. `v` is the table. */
export const versionColumns = 'v.seq, v.at_ms as "atMs", v.kind, v.id, v.change_type as "changeType", v.diff'

/** Number and time of the newest version. Versions before `horizonMs` have been deleted. */
export async function readHistoryHead(reader: StateReader) {
  const row = await reader.get<{ seq: number; at_ms: number; horizon_ms: number | null }>(
    'select seq, at_ms, horizon_ms from market_revision',
  )
  return { seq: row?.seq ?? 0, atMs: row?.at_ms ?? 0, horizonMs: row?.horizon_ms ?? undefined }
}

/** The time from which the history is complete; undefined if it is empty. */
export async function readHistoryStartMs(reader: StateReader): Promise<number | undefined> {
  const { horizonMs } = await readHistoryHead(reader)
  if (horizonMs !== undefined) return horizonMs
  const oldest = await reader.get<{ at_ms: number | null }>('select min(at_ms) as at_ms from market_versions')
  return oldest?.at_ms ?? undefined
}
