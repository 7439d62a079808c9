// Stores market records in one transaction. Imports, feeds and the demo use it. Each part has its own file: which records are
// accepted (accept-records.ts), how they are merged (records/merge-record.ts), their rows (record-set.ts), versions,
// snapshots, drift, and what changes elsewhere (affected.ts). Responses are composed when they are requested.
//
// 1. A record is stored once. Storing it again replaces its values and the links it lists, but a partial record only adds
//    to it (behaviour/markets.md#partial-records). Storing the same content changes nothing.
// 2. A response shows all of a commit or nothing of it.
// 3. Every change of a response has a version, and the time of the change is stored with a record that the response shows:
//    the changed one, or the one that holds a reference to it.
// 4. A record with an older `updatedAt` than the stored one changes nothing (behaviour/markets.md#partial-records). A
//    stored `updatedAt` in the future counts as wrong, so any record replaces it.
// 5. A record that occurs several times in one write has several versions, in order; equal ones count once.
import { stringifyJson } from '#api/contract/json.ts'
import type { StateWriter } from '#storage/state.ts'
import { diffRecords } from '../records/diff-records.ts'
import type { StoredRecord } from '../records/documents.ts'
import type { KindName } from '../records/kinds.ts'
import { isOlder, mergeExtraFields, mergeRecord, textOrNull } from '../records/merge-record.ts'
import { type MarketRecord, type NormalizedRecord, parsePastSlugs } from '../records/normalize.ts'
import { type AcceptedRecord, acceptRecords, type Reject } from './accept-records.ts'
import { DriftCount } from './drift.ts'
import { RecordSet, type RowOfRecord } from './record-set.ts'
import { writeSearchRows } from './search-rows.ts'
import { putSnapshots, type Snapshot, snapshotEvery } from './snapshots.ts'
import { openVersionWriter, type VersionWriter } from './version-writer.ts'

export interface PutReport {
  /** New or changed records of all kinds. */
  readonly changed: number
  /** Records older than the stored ones. */
  readonly stale: number
  /** Records that cannot be stored; the others were stored. */
  readonly rejects: readonly Reject[]
}

export interface PutOptions {
  /** The source under which drift is counted. */
  readonly source?: string
}

/** What one transaction changes. */
interface PutBatch {
  readonly nowMs: number
  readonly records: RecordSet
  readonly versions: VersionWriter
  readonly drift: DriftCount
  readonly snapshots: Snapshot[]
}

type Outcome = 'same' | 'stale' | 'changed'

export async function putMarkets(
  tx: StateWriter,
  records: Iterable<MarketRecord>,
  nowMs: number,
  { source = 'import' }: PutOptions = {},
): Promise<PutReport> {
  const { accepted, rejects } = acceptRecords(records)
  const batch: PutBatch = {
    nowMs,
    records: await RecordSet.read(tx, kindsAndIds(accepted)),
    versions: await openVersionWriter(tx, nowMs),
    drift: new DriftCount(),
    snapshots: [],
  }
  const outcomes = accepted.map(({ record, normalized }) => putRecord(batch, record, normalized))
  const changes = await batch.records.write(tx, batch.versions.atMs)
  await writeSearchRows(tx, changes)
  await putSnapshots(tx, batch.snapshots)
  await batch.drift.store(tx, source, nowMs)
  await batch.versions.write()
  const count = (outcome: Outcome) => outcomes.filter((one) => one === outcome).length
  return { changed: count('changed'), stale: count('stale'), rejects }
}

/** Each record of the batch once. */
const kindsAndIds = (accepted: readonly AcceptedRecord[]): (readonly [KindName, string])[] => [
  ...new Map(accepted.map(({ record: { kind, id } }) => [`${kind}/${id}`, [kind, id] as const])).values(),
]

/** Changes one record in memory; `putMarkets` writes all of them. */
function putRecord(batch: PutBatch, record: MarketRecord, normalized: NormalizedRecord): Outcome {
  const { kind, id } = record
  const stored = batch.records.get(kind, id)
  if (stored && isOlder(normalized.fields.updatedAt, stored.record.fields.updatedAt, batch.nowMs)) return 'stale'
  const next = toRow(stored, record, normalized)
  const isChanged = !stored || stored.row.fields !== next.row.fields || stored.row.links !== next.row.links
  if (!isChanged && stored.row.extra_fields === next.row.extra_fields) return 'same'
  batch.drift.add(kind, normalized.drift)
  if (isChanged) storeChange(batch, kind, id, stored, next)
  // Only fields that the contract does not list have changed. No document shows them, so there is no version.
  else batch.records.put(kind, id, next)
  return 'changed'
}

/** The merged record and its row. */
function toRow(stored: RowOfRecord | undefined, record: MarketRecord, normalized: NormalizedRecord): RowOfRecord {
  const merged: StoredRecord = mergeRecord(stored?.record, record, normalized)
  const { fields, links } = merged
  return {
    record: merged,
    row: {
      slug: textOrNull(fields.slug),
      title: textOrNull(fields.question ?? fields.title),
      fields: stringifyJson(fields),
      links: JSON.stringify(links),
      extra_fields: mergeExtraFields(stored?.row.extra_fields, record, normalized),
      changes_since_snapshot: stored?.row.changes_since_snapshot ?? 0,
      changed_ms: stored?.row.changed_ms ?? 0,
      number: stored?.row.number ?? null,
    },
  }
}

/** A new or changed record: its row, its version, a snapshot if one is due, and its slugs. */
function storeChange(
  { records, versions, snapshots }: PutBatch,
  kind: KindName,
  id: string,
  stored: RowOfRecord | undefined,
  next: RowOfRecord,
): void {
  const { row, record } = next
  const changeCount = row.changes_since_snapshot + (stored ? 1 : 0)
  const isSnapshotDue = changeCount >= snapshotEvery
  records.put(kind, id, { record, row: { ...row, changes_since_snapshot: isSnapshotDue ? 0 : changeCount } })
  // The snapshot and the slugs below get the number of this version.
  if (stored) versions.append(kind, id, 'changed', diffRecords(kind, stored.record, record))
  else versions.append(kind, id, 'created')
  if (isSnapshotDue) snapshots.push({ kind, id, seq: versions.seq(), fields: row.fields, links: row.links })
  if (kind === 'market') records.putSlugs(id, row.slug, parsePastSlugs(record.fields.pastSlugs), versions.seq())
}
