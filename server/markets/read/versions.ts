// Reads the history: one version per change of a record, with only the fields that changed. 4.8 with `asOf` and the
// lists of changes use it; write/version-writer.ts appends to it. Changes of fast values are stored as ticks, together
// with those of the same block and commit (ticks/block-values.ts), and later as packs, all others in market_versions.
//
// 1. A version is written in the transaction that changes the record, so the history and the records always agree.
// 2. Numbers and times of versions only increase, even if the clock is set back. So a time corresponds to a number.
// 3. A change is stored once, with its record, not with every document that shows the record
//    (decisions/store-market-versions-as-differences.md).
// 4. Versions are deleted oldest first, and the time from which the history is complete is stored with it.
import type { StateReader } from '#storage/state.ts'
import type { ChangeType } from '../records/diff-records.ts'
import type { KindName } from '../records/kinds.ts'
import { readChangesBack, type TimedChange } from '../ticks/read-values.ts'

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

/**
 * Number and time of the newest version. Versions up to `horizonSeq`, before `horizonMs`, have been deleted. Changes of all
 * records are listed after `fullSeq`.
 */
export async function readHistoryHead(reader: StateReader) {
  const row = await reader.get<{
    seq: number
    at_ms: number
    horizon_ms: number | null
    horizon_seq: number
    full_seq: number
  }>('select seq, at_ms, horizon_ms, horizon_seq, full_seq from market_revision')
  const [seq, atMs, horizonSeq] = [row?.seq ?? 0, row?.at_ms ?? 0, row?.horizon_seq ?? 0]
  const fullSeq = Math.max(horizonSeq, row?.full_seq ?? 0)
  return { seq, atMs, horizonMs: row?.horizon_ms ?? undefined, horizonSeq, fullSeq }
}

/** Whether this was the newest version of this history. Numbers may be used again after a failover. */
export async function hasHead(reader: StateReader, { seq, atMs }: { readonly seq: number; readonly atMs: number }) {
  if (seq === 0) return true
  const found = await reader.get(
    `select seq from market_versions where seq = ? and at_ms = ?
     union all select seq from market_commits where seq = ? and at_ms = ?`,
    ...[seq, atMs, seq, atMs],
  )
  return found !== undefined
}

/** The time from which the history is complete; undefined if it is empty. */
export async function readHistoryStartMs(reader: StateReader): Promise<number | undefined> {
  const { horizonMs } = await readHistoryHead(reader)
  if (horizonMs !== undefined) return horizonMs
  // The first version of all creates a record, so it is not one of ticks.
  const oldest = await reader.get<{ at_ms: number | null }>('select min(at_ms) as at_ms from market_versions')
  return oldest?.at_ms ?? undefined
}

/** The number of the last version at this time, even if that version has been deleted. */
export async function lastVersionAt(reader: StateReader, asOfMs: number): Promise<number> {
  // Before the query, so that it does not count a version that is committed after it.
  const { seq } = await readHistoryHead(reader)
  const next = await reader.get<{ seq: number | null }>(
    `select min(seq) as seq from
       (select * from (select seq from market_versions where at_ms > ? order by at_ms, seq limit 1) as v
        union all
        select * from (select after_seq + 1 as seq from market_commits where at_ms > ? order by at_ms, seq limit 1) as c) as next`,
    ...[asOfMs, asOfMs],
  )
  return next?.seq == null ? seq : next.seq - 1
}

/** What a version is stored under. `number`: null for kinds without fast fields. */
export interface VersionedRecord {
  readonly kind: KindName
  readonly id: string
  readonly number: number | null
}

/** The newest versions of a record up to one of them, newest first: `count`, unless there are fewer. */
export async function readVersionsBack(
  reader: StateReader,
  { kind, id, number }: VersionedRecord,
  until: number,
  count: number,
): Promise<VersionRow[]> {
  // The ticks first: they are most versions, and older rows of market_versions are read with a later block.
  const ticks =
    number === null ? { changes: [], from: 0 } : await readChangesBack(reader, { kind, number }, until, count)
  const rows = await reader.all<VersionRow>(
    `select ${versionColumns} from market_versions v
     where v.kind = ? and v.id = ? and v.seq <= ? and v.seq >= ? order by v.seq desc limit ?`,
    ...[kind, id, until, ticks.from, count],
  )
  const fast = ticks.changes.filter(({ isPart }) => !isPart).map((change) => toVersion(change, kind, id))
  return [...rows, ...fast].sort((a, b) => b.seq - a.seq).slice(0, count)
}

const toVersion = ({ seq, atMs, diff }: TimedChange, kind: KindName, id: string): VersionRow => {
  return { seq, atMs, kind, id, changeType: 'changed', diff }
}
