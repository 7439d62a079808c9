// The version log: one version per change of a record, with only the fields that changed.
//
// 1. A version is written in the transaction that changes the record, so the log and the records always agree.
// 2. Numbers and times of versions only increase, even if the clock is set back. So a time corresponds to a number.
// 3. A change is stored once, with its record, not with every document that shows the record
//    (decisions/store-market-versions-as-differences.md).
// 4. Versions are deleted oldest first, and the time from which the log is complete is stored with it.
import { parseJson, stringifyJson } from '#api/contract/json.ts'
import type { StateReader, StateWriter, Value } from '#storage/state.ts'
import type { StoredRecord } from '../records/documents.ts'
import { type KindName, kinds } from '../records/kinds.ts'

export type ChangeType = 'created' | 'changed' | 'vanished' | 'returned'

/** Field → value before and after; null: no value. Links are lists of ids. */
export type Diff = Readonly<Record<string, readonly [before: unknown, after: unknown]>>

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

export const parseDiff = (diff: string): Diff => parseJson(diff) as Diff

/** Versions before `horizonMs` have been deleted. */
export async function readLogHead(reader: StateReader) {
  const row = await reader.get<{ seq: number; at_ms: number; horizon_ms: number | null }>(
    'select seq, at_ms, horizon_ms from market_revision',
  )
  return { seq: row?.seq ?? 0, atMs: row?.at_ms ?? 0, horizonMs: row?.horizon_ms ?? undefined }
}

/** The time from which the log is complete; undefined if it is empty. */
export async function readHistoryStartMs(reader: StateReader): Promise<number | undefined> {
  const { horizonMs } = await readLogHead(reader)
  if (horizonMs !== undefined) return horizonMs
  const oldest = await reader.get<{ at_ms: number | null }>('select min(at_ms) as at_ms from market_versions')
  return oldest?.at_ms ?? undefined
}

/** Appends versions within one transaction. `close` writes them. */
export async function openVersionLog(tx: StateWriter, nowMs: number) {
  const head = await readLogHead(tx)
  const atMs = Math.max(nowMs, head.atMs)
  const rows: Value[][] = []
  let { seq } = head
  return {
    atMs,
    /** The number of the last version. */
    seq: () => seq,
    append(kind: KindName, id: string, changeType: ChangeType, diff: Diff = {}): void {
      seq += 1
      rows.push([seq, atMs, kind, id, changeType, stringifyJson(diff)])
    },
    /** `hasNewDocuments`: cached responses are out of date. */
    async close(hasNewDocuments: boolean): Promise<void> {
      if (seq === head.seq && !hasNewDocuments) return
      await tx.insertMany('market_versions', ['seq', 'at_ms', 'kind', 'id', 'change_type', 'diff'], rows)
      const sql = 'update market_revision set seq = ?, at_ms = ?, revision = revision + ?'
      await tx.run(sql, seq, atMs, hasNewDocuments ? 1 : 0)
    },
  }
}

export type VersionLog = Awaited<ReturnType<typeof openVersionLog>>

/** Compares two states of a record field by field, in the order of the contract. */
export function diffRecords(kind: KindName, before: StoredRecord, after: StoredRecord): Diff {
  const diff: Record<string, readonly [unknown, unknown]> = {}
  for (const name of Object.keys(kinds[kind].schema.properties)) {
    const part = name in kinds[kind].links ? 'links' : 'fields'
    const [was, is] = [before[part][name] ?? null, after[part][name] ?? null]
    if (was !== is && stringifyJson(was) !== stringifyJson(is)) diff[name] = [was, is]
  }
  return diff
}

/** Undoes changes, newest first. Undefined if the record did not exist then. */
export function undoChanges(
  kind: KindName,
  after: StoredRecord,
  changes: readonly Pick<VersionRow, 'changeType' | 'diff'>[],
) {
  const fields: Record<string, unknown> = { ...after.fields }
  const links: Record<string, readonly string[]> = { ...after.links }
  for (const { changeType, diff } of changes) {
    if (changeType === 'created') return undefined
    for (const [name, [before]] of Object.entries(parseDiff(diff))) {
      const part: Record<string, unknown> = name in kinds[kind].links ? links : fields
      if (before === null) delete part[name]
      else part[name] = before
    }
  }
  return { fields, links }
}

/** Deletes some versions before a time and returns how many. Call it until it returns less than `rowsMax`. */
export async function dropVersionsBefore(tx: StateWriter, cutoffMs: number, rowsMax = 500): Promise<number> {
  const dropped = await tx.run(
    'delete from market_versions where seq in (select seq from market_versions where at_ms < ? order by at_ms limit ?)',
    cutoffMs,
    rowsMax,
  )
  if (dropped > 0) {
    const sql = 'update market_revision set horizon_ms = ? where horizon_ms is null or horizon_ms < ?'
    await tx.run(sql, cutoffMs, cutoffMs)
    // Without the versions that follow it, a snapshot would be used for later times.
    await tx.run(
      `delete from market_snapshots where seq <
         coalesce((select min(seq) from market_versions), (select seq + 1 from market_revision))`,
    )
  }
  return dropped
}
