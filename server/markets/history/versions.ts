// The log of what changed when: one entry per change of one record, holding only the fields that changed.
//
// 1. An entry is written in the transaction that makes the change, so the log and the records never disagree.
// 2. Numbers and times of entries only rise, whatever the clock does: "as of a time" is "up to a number".
// 3. A change is stored once, at its record; a document is never stored twice (decisions/store-market-versions-as-differences.md).
// 4. Entries are dropped oldest first, and the time from which on all are there is remembered with them.
import { parseJson, stringifyJson } from '#api/json.ts'
import type { StateReader, StateWriter } from '#storage/state.ts'
import type { StoredRecord } from '../records/documents.ts'
import { type KindName, kinds } from '../records/kinds.ts'

export type ChangeType = 'created' | 'changed' | 'vanished' | 'returned'

/** Field → value before and after; null where there was or is none. Links are lists of ids. */
export type Diff = Readonly<Record<string, readonly [before: unknown, after: unknown]>>

export interface Version {
  readonly seq: number
  readonly atMs: number
  readonly kind: KindName
  readonly id: string
  readonly what: ChangeType
  readonly diff: Diff
}

/** Where the log stands. */
export interface LogHead {
  readonly seq: number
  readonly atMs: number
  /** Entries before this time have been dropped. */
  readonly horizonMs: number | undefined
}

export async function readLogHead(reader: StateReader): Promise<LogHead> {
  const row = await reader.get<{ seq: number; at_ms: number; horizon_ms: number | null }>(
    'select seq, at_ms, horizon_ms from market_revision',
  )
  return { seq: row?.seq ?? 0, atMs: row?.at_ms ?? 0, horizonMs: row?.horizon_ms ?? undefined }
}

/** The time from which on every entry is there; undefined while there has been none. */
export async function readHistoryStartMs(reader: StateReader): Promise<number | undefined> {
  const { horizonMs } = await readLogHead(reader)
  if (horizonMs !== undefined) return horizonMs
  const oldest = await reader.get<{ at_ms: number | null }>('select min(at_ms) as at_ms from market_versions')
  return oldest?.at_ms ?? undefined
}

/** The log, open for one transaction. */
export class VersionLog {
  readonly atMs: number
  readonly #tx: StateWriter
  #seq: number
  #count = 0

  static async open(tx: StateWriter, nowMs: number): Promise<VersionLog> {
    const { seq, atMs } = await readLogHead(tx)
    return new VersionLog(tx, seq, Math.max(nowMs, atMs))
  }

  private constructor(tx: StateWriter, seq: number, atMs: number) {
    this.#tx = tx
    this.#seq = seq
    this.atMs = atMs
  }

  /** The number of the last entry. */
  get seq(): number {
    return this.#seq
  }

  async append(kind: KindName, id: string, what: ChangeType, diff: Diff = {}): Promise<void> {
    this.#seq += 1
    this.#count += 1
    await this.#tx.run(
      'insert into market_versions (seq, at_ms, kind, id, what, diff) values (?, ?, ?, ?, ?, ?)',
      this.#seq,
      this.atMs,
      kind,
      id,
      what,
      stringifyJson(diff),
    )
  }

  /** `shown`: documents changed too, so what is kept in memory is out of date. */
  async close(shown: boolean): Promise<void> {
    if (this.#count === 0 && !shown) return
    await this.#tx.run(
      'update market_revision set seq = ?, at_ms = ?, revision = revision + ?',
      this.#seq,
      this.atMs,
      shown ? 1 : 0,
    )
  }
}

/** Two states of a record, field by field, in the order of the contract. */
export function diffRecords(kind: KindName, before: StoredRecord, after: StoredRecord): Diff {
  const diff: Record<string, readonly [unknown, unknown]> = {}
  for (const name of Object.keys(kinds[kind].schema.properties)) {
    const part = name in kinds[kind].links ? 'links' : 'fields'
    const [was, is] = [before[part][name] ?? null, after[part][name] ?? null]
    if (was !== is && stringifyJson(was) !== stringifyJson(is)) diff[name] = [was, is]
  }
  return diff
}

/** The record before some changes, newest first; undefined before it was there. */
export function undoChanges(kind: KindName, after: StoredRecord, changes: readonly Pick<Version, 'what' | 'diff'>[]) {
  const fields: Record<string, unknown> = { ...after.fields }
  const links: Record<string, readonly string[]> = { ...after.links }
  for (const { what, diff } of changes) {
    if (what === 'created') return undefined
    for (const [name, [before]] of Object.entries(diff)) {
      const part: Record<string, unknown> = name in kinds[kind].links ? links : fields
      if (before === null) delete part[name]
      else part[name] = before
    }
  }
  return { fields, links }
}

export interface VersionRow {
  readonly seq: number
  readonly at_ms: number
  readonly kind: KindName
  readonly id: string
  readonly what: ChangeType
  readonly diff: string
}

export const parseVersion = ({ seq, at_ms, kind, id, what, diff }: VersionRow): Version => ({
  seq,
  atMs: at_ms,
  kind,
  id,
  what,
  diff: parseJson(diff) as Diff,
})

/** In one transaction: short enough not to be felt. */
const dropBatch = 500

/** Drops entries before a time, some at once; resolves to how many, and is to be called again until none are left. */
export async function dropVersionsBefore(tx: StateWriter, cutoffMs: number): Promise<number> {
  const dropped = await tx.run(
    'delete from market_versions where seq in (select seq from market_versions where at_ms < ? order by at_ms limit ?)',
    cutoffMs,
    dropBatch,
  )
  if (dropped > 0) {
    await tx.run(
      'update market_revision set horizon_ms = ? where horizon_ms is null or horizon_ms < ?',
      cutoffMs,
      cutoffMs,
    )
    // Without the versions that follow it a keyframe would be taken for a later one.
    await tx.run(
      `delete from market_keyframes where seq <
         coalesce((select min(seq) from market_versions), (select seq + 1 from market_revision))`,
    )
  }
  return dropped
}
