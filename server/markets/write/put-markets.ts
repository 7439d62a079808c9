// Stores market records in one transaction. Imports, feeds and the demo use it. Each part has its own file: which records are
// accepted (accept-records.ts), how they are merged (records/merge-record.ts), their rows (record-set.ts) and fast values
// (value-set.ts), versions, snapshots, drift, and what changes elsewhere (affected.ts). Responses are composed when they
// are requested.
//
// 1. A record is stored once. Storing it again replaces its values and the links it lists, but a partial record only adds
//    to it (behaviour/markets.md#partial-records). Storing the same content changes nothing.
// 2. A response shows all of a commit or nothing of it.
// 3. Every change of a response has a version, and the time of the change is stored with a record that the response shows:
//    the changed one, or the one that holds a reference to it.
// 4. A record with an older `updatedAt` than the stored one changes nothing (behaviour/markets.md#partial-records). A
//    stored `updatedAt` in the future counts as wrong, so any record replaces it.
// 5. Of a record that only changes fast values, nothing else is read or compared (known-records.ts).
// 6. A record that occurs several times in one write has several versions, in order; equal ones count once.
import { stringifyJson } from '#api/contract/json.ts'
import type { StateWriter } from '#storage/state.ts'
import { type Diff, diffFields, diffRecords } from '../records/diff-records.ts'
import type { StoredRecord } from '../records/documents.ts'
import type { KindName } from '../records/kinds.ts'
import { isOlder, mergeExtraFields, mergeFields, mergeRecord, textOrNull } from '../records/merge-record.ts'
import { type MarketRecord, type NormalizedRecord, parsePastSlugs } from '../records/normalize.ts'
import { fastFields, hasFastFields, splitFields } from '../ticks/fast-fields.ts'
import { type Accepted, type AcceptedRecord, type FastChange, RecordAcceptor, type Reject } from './accept-records.ts'
import type { RecordChange } from './affected.ts'
import { DriftCount } from './drift.ts'
import type { KnownRecords, LearnedForm } from './known-records.ts'
import { type ListedChange, putListRows } from './list-rows.ts'
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
  /** Call it when the write has been committed. */
  readonly learn: () => void
}

export interface PutOptions {
  /** The source under which drift is counted. */
  readonly source?: string
  readonly known?: KnownRecords
}

/** What one transaction changes. */
interface PutBatch {
  readonly nowMs: number
  readonly records: RecordSet
  readonly versions: VersionWriter
  readonly drift: DriftCount
  readonly snapshots: Snapshot[]
  readonly learned: LearnedForm[]
  /** Places of new tags in lists. Other records have their number as the place. */
  readonly tagPlaces: Map<string, number>
  /** Records of which only fields without a version have changed. */
  extras: number
}

type Outcome = 'same' | 'stale' | 'changed'

export const putMarkets = (
  tx: StateWriter,
  records: Iterable<MarketRecord>,
  nowMs: number,
  options: PutOptions = {},
): Promise<PutReport> => putAccepted(tx, [new RecordAcceptor().accept([...records])], nowMs, options)

export async function putAccepted(
  tx: StateWriter,
  sources: readonly Accepted[],
  nowMs: number,
  { source = 'import', known }: PutOptions = {},
): Promise<PutReport> {
  await known?.follow(tx)
  // Another write, or a record of this one, may change what they were compared with.
  const resolve = (given: readonly Accepted[], changing: ReadonlySet<string>) =>
    given.map((one) => (one.isValid(changing) ? one : new RecordAcceptor(known).accept(one.records())))
  const current = resolve(sources, new Set())
  const changing = new Set(current.flatMap((one) => one.accepted.filter(({ fast }) => !fast)).map(nameOf))
  const valid = resolve(current, changing)
  const accepted = valid.flatMap((one) => one.accepted)
  const rejects = valid.flatMap((one) => one.rejects)
  const { names, fast } = planBatch(accepted, known)
  const numbers = [...fast.values()].flatMap(({ known: { number } }) => number ?? [])
  const versions = await openVersionWriter(tx, nowMs)
  const takeBlocks = (blocks: Iterable<number>) => known?.values.take(versions.before, blocks) ?? new Map()
  const batch: PutBatch = {
    nowMs,
    records: await RecordSet.read(tx, names, numbers, takeBlocks),
    versions,
    drift: new DriftCount(),
    snapshots: [],
    learned: [],
    tagPlaces: new Map(),
    extras: 0,
  }
  const outcomes = accepted.map((one) =>
    one.fast && fast.has(nameOf(one)) ? putFast(batch, one, one.fast) : putRecord(batch, one),
  )
  const { records } = batch
  const changes = records.changes()
  await records.write(tx, changes, versions.atMs)
  await records.values.write(tx, versions.before.seq, versions.seq(), versions.atMs)
  await putListRows(
    tx,
    changes.map((change) => toListedChange(batch, change)),
  )
  await writeSearchRows(tx, changes)
  await putSnapshots(tx, batch.snapshots)
  await batch.drift.store(tx, source, nowMs)
  if (batch.extras > 0) await tx.run('update market_revision set extras = extras + ?', batch.extras)
  await versions.write()
  const count = (outcome: Outcome) => outcomes.filter((one) => one === outcome).length
  const head = versions.head()
  const learn = () => {
    known?.learn(batch.learned, versions.seq(), batch.extras)
    known?.values.keep(records.values.blocks(), versions.before, head)
  }
  return { changed: count('changed'), stale: count('stale'), rejects, learn }
}

const nameOf = ({ kind, id }: AcceptedRecord): string => `${kind}/${id}`

interface FastName {
  readonly kind: KindName
  readonly id: string
  readonly known: FastChange['known']
}

/** The records of the batch, each once: those of which all fields are needed, and those of which only fast values change. */
function planBatch(accepted: readonly AcceptedRecord[], known: KnownRecords | undefined) {
  const names = new Map<string, readonly [KindName, string]>()
  const fast = new Map<string, FastName>()
  for (const one of accepted) {
    const { kind, id } = one
    const stored = one.fast && known?.get(kind, id)
    // Another write may have changed the record since it was accepted.
    if (stored?.forms.has(one.form)) fast.set(nameOf(one), { kind, id, known: stored })
    else names.set(nameOf(one), [kind, id])
  }
  for (const name of names.keys()) fast.delete(name)
  return { names: [...names.values()], fast }
}

/** Changes fast values in memory; `putAccepted` writes all of them. */
function putFast({ nowMs, records, versions, drift }: PutBatch, accepted: AcceptedRecord, change: FastChange): Outcome {
  const { kind, id } = accepted
  const { number } = change.known
  if (number === null) return 'same'
  const stored = records.values.get(number)
  if (isOlder(change.fields.updatedAt, stored.updatedAt, nowMs)) return 'stale'
  const next = mergeFields(fastFields[kind], stored, accepted, change)
  const diff = diffFields(fastFields[kind], stored, next)
  if (isEmpty(diff)) return 'same'
  drift.add(kind, change.drift)
  versions.append(kind, id, 'changed', diff, true)
  records.values.put(number, next, diff, { seq: versions.seq(), isPart: false }, versions.atMs)
  return 'changed'
}

const isEmpty = (diff: Diff): boolean => Object.keys(diff).length === 0

/** Changes one record in memory; `putAccepted` writes all of them. */
function putRecord(batch: PutBatch, accepted: AcceptedRecord): Outcome {
  const { record, normalized } = accepted.whole()
  const { kind, id } = record
  const stored = batch.records.get(kind, id)
  if (stored && isOlder(normalized.fields.updatedAt, stored.record.fields.updatedAt, batch.nowMs)) return 'stale'
  const number = stored ? stored.row.number : hasFastFields(kind) ? batch.records.takeNumber() : null
  if (!stored && kind === 'tag') batch.tagPlaces.set(id, batch.records.takeNumber())
  const next = toRow(stored, number, record, normalized)
  const isSlow = !stored || stored.row.fields !== next.row.fields || stored.row.links !== next.row.links
  const hasExtras = stored !== undefined && stored.row.extra_fields !== next.row.extra_fields
  const diff = stored ? diffRecords(kind, stored.record, next.record) : {}
  batch.learned.push({
    ...{ kind, id, number, form: accepted.form, drift: normalized.drift },
    isNew: isSlow || hasExtras,
    isOdd: normalized.drift.some(({ field }) => fastFields[kind].has(field)),
  })
  if (!isSlow && isEmpty(diff) && !hasExtras) return 'same'
  batch.drift.add(kind, normalized.drift)
  if (isSlow || !isEmpty(diff)) storeChange(batch, kind, id, stored, next, { isSlow, diff })
  // Only fields that the contract does not list have changed. No document shows them, so there is no version.
  else batch.records.put(kind, id, next)
  if (hasExtras && !isSlow) batch.extras += 1
  return 'changed'
}

/** The merged record and its row. */
function toRow(
  stored: RowOfRecord | undefined,
  number: number | null,
  record: MarketRecord,
  normalized: NormalizedRecord,
): RowOfRecord {
  const merged: StoredRecord = mergeRecord(stored?.record, record, normalized)
  const { fields, links } = merged
  return {
    record: merged,
    row: {
      slug: textOrNull(fields.slug),
      title: textOrNull(fields.question ?? fields.title),
      fields: stringifyJson(splitFields(record.kind, fields)[0]),
      links: JSON.stringify(links),
      extra_fields: mergeExtraFields(stored?.row.extra_fields, record, normalized),
      changes_since_snapshot: stored?.row.changes_since_snapshot ?? 0,
      changed_ms: stored?.row.changed_ms ?? 0,
      number,
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
  { isSlow, diff }: { readonly isSlow: boolean; readonly diff: Diff },
): void {
  const { row, record } = next
  const changeCount = row.changes_since_snapshot + (stored && isSlow ? 1 : 0)
  const isSnapshotDue = changeCount >= snapshotEvery
  records.put(kind, id, { record, row: { ...row, changes_since_snapshot: isSnapshotDue ? 0 : changeCount } })
  // The snapshot and the slugs below get the number of this version.
  versions.append(kind, id, stored ? 'changed' : 'created', diff, !isSlow)
  const fast = splitFields(kind, record.fields)[1]
  const isFast = ([name]: readonly [string, unknown]) => fastFields[kind].has(name)
  const fastDiff = stored
    ? Object.fromEntries(Object.entries(diff).filter(isFast))
    : diffFields(fastFields[kind], {}, fast)
  if (row.number !== null && !isEmpty(fastDiff))
    records.values.put(row.number, fast, fastDiff, { seq: versions.seq(), isPart: isSlow }, versions.atMs)
  if (isSnapshotDue) snapshots.push({ kind, id, seq: versions.seq(), fields: row.fields, links: row.links })
  if (isSlow && kind === 'market')
    records.putSlugs(id, row.slug, parsePastSlugs(record.fields.pastSlugs), versions.seq())
}

const toListedChange = ({ tagPlaces }: PutBatch, { kind, id, stored, current }: RecordChange): ListedChange => ({
  ...{ kind, id, place: current.row.number ?? tagPlaces.get(id) },
  ...{ old: stored?.record.fields, next: current.record.fields },
})
