// Stores market records and writes the documents of all affected markets in one transaction. Imports, feeds and the demo
// use it.
//
// 1. A record is stored once. Storing it again replaces its values and the links it lists, but a partial record only adds
//    to it (behaviour/markets.md#partial-records). Storing the same content changes nothing.
// 2. At commit, the document of every market that shows a changed record has been rewritten, so readers never see a
//    partial update. With `isDeferred`, or beyond `documentsMax`, documents of other markets may follow later; each one
//    is always consistent.
// 3. Only affected documents are written: those of markets that link to a changed record, directly or indirectly, and,
//    if the reference of a record changed, those that show the reference.
// 4. A record with an older `updatedAt` than the stored one changes nothing (behaviour/markets.md#partial-records). A
//    stored time in the future is wrong; any record replaces it.
import { parseJson, stringifyJson } from '#api/contract/json.ts'
import type { Problem } from '#core/fault.ts'
import type { StateWriter } from '#storage/state.ts'
import { sourceMs } from '../feeds/source-time.ts'
import { putSnapshots, type Snapshot, snapshotEvery } from '../history/snapshots.ts'
import { diffRecords, openVersionLog, type VersionLog } from '../history/versions.ts'
import type { StoredRecord } from './documents.ts'
import { DriftCount } from './drift.ts'
import { type KindName, kinds, ownFields } from './kinds.ts'
import { type MarketRecord, type NormalizedRecord, normalizeRecord, parsePastSlugs } from './normalize.ts'
import { deferDocuments, findMarketsShowing, TouchedRecords, writeDocuments } from './rebuild.ts'
import { type RecordRow, RecordSet } from './record-set.ts'

export interface Reject {
  readonly kind: KindName
  readonly id: string
  /** Empty if the record has none. */
  readonly slug: string
  /** File and line, or URL and page. */
  readonly location: string
  readonly problems: readonly Problem[]
}

export interface PutReport {
  /** New or changed records. */
  readonly changed: number
  /** New or changed documents. */
  readonly written: number
  /** Records older than the stored ones. */
  readonly stale: number
  /** Records that cannot be stored; the others were stored. */
  readonly rejects: readonly Reject[]
}

type Links = StoredRecord['links']

type RecordNames = Pick<RecordRow, 'slug' | 'title'>

/** The state of one transaction. */
interface PutBatch {
  readonly nowMs: number
  readonly set: RecordSet
  readonly log: VersionLog
  readonly touched: TouchedRecords
  readonly drift: DriftCount
  /** Changed markets that were stored before. */
  readonly known: string[]
  readonly snapshots: Snapshot[]
}

/** An event is repeated in each of its markets. Skip identical copies. */
function isRepeated(stated: Map<string, string>, { kind, id, fields, links }: MarketRecord): boolean {
  const name = `${kind}/${id}`
  const text = stringifyJson([fields, links])
  if (stated.get(name) === text) return true
  stated.set(name, text)
  return false
}

export interface PutOptions {
  /** The source under which drift is counted. */
  readonly source?: string
  /**
   * Write only the documents of markets that changed and were stored before, and leave the others to `writeDeferred`. For
   * bulk writes: otherwise the documents of a series with a thousand events are written a thousand times.
   */
  readonly isDeferred?: boolean
  /** If more documents are affected, does the same as `isDeferred` and writes at most this many. */
  readonly documentsMax?: number
}

const unlimited = 2 ** 31

export async function putMarkets(
  tx: StateWriter,
  records: Iterable<MarketRecord>,
  nowMs: number,
  { source = 'import', isDeferred = false, documentsMax = unlimited }: PutOptions = {},
): Promise<PutReport> {
  const log = await openVersionLog(tx, nowMs)
  const rejects: Reject[] = []
  const accepted: [MarketRecord, NormalizedRecord][] = []
  const stated = new Map<string, string>()
  for (const record of records) {
    if (isRepeated(stated, record)) continue
    const normalized = normalizeRecord(record)
    const { problems } = normalized
    if (problems.length === 0) accepted.push([record, normalized])
    else {
      const { kind, id, location = '' } = record
      rejects.push({ kind, id, slug: textOrNull(record.fields.slug) ?? '', location, problems })
    }
  }
  const set = await RecordSet.read(tx, namesOf(accepted))
  const drift = new DriftCount()
  const batch: PutBatch = { nowMs, set, log, touched: new TouchedRecords(), drift, known: [], snapshots: [] }
  let changed = 0
  let stale = 0
  for (const [record, normalized] of accepted) {
    const outcome = putRecord(batch, record, normalized)
    if (outcome === 'changed') changed += 1
    if (outcome === 'stale') stale += 1
  }
  await set.write(tx)
  await putSnapshots(tx, batch.snapshots)
  await batch.drift.store(tx, source, nowMs)
  const affected = isDeferred ? undefined : await findMarketsShowing(tx, batch.touched, documentsMax)
  if (!affected) await deferDocuments(tx, batch.touched)
  const written = await writeDocuments(tx, affected ?? batch.known.slice(0, documentsMax), log.atMs)
  await log.close(written > 0)
  return { changed, written, stale, rejects }
}

/** Each record of the batch once. */
const namesOf = (accepted: readonly [MarketRecord, NormalizedRecord][]): (readonly [KindName, string])[] => [
  ...new Map(accepted.map(([{ kind, id }]) => [`${kind}/${id}`, [kind, id] as const])).values(),
]

function putRecord(batch: PutBatch, record: MarketRecord, normalized: NormalizedRecord): 'same' | 'stale' | 'changed' {
  const { kind, id } = record
  const { set, log, touched } = batch
  const { row, record: old } = set.get(kind, id) ?? {}
  if (old && isOlder(normalized.fields.updatedAt, old.fields.updatedAt, batch.nowMs)) return 'stale'
  const next = mergeRecord(old, record, normalized)
  const extraFields = mergeExtraFields(row?.extra_fields, record, normalized)
  const put: Omit<RecordRow, 'changes_since_snapshot'> = {
    slug: textOrNull(next.fields.slug),
    title: textOrNull(next.fields.question ?? next.fields.title),
    fields: stringifyJson(next.fields),
    links: JSON.stringify(next.links),
    extra_fields: extraFields,
  }
  const isChanged = !row || row.fields !== put.fields || row.links !== put.links
  if (!isChanged && row.extra_fields === extraFields) return 'same'
  batch.drift.add(kind, normalized.drift)
  const changeCount = (row?.changes_since_snapshot ?? 0) + (isChanged && row ? 1 : 0)
  const isSnapshotDue = changeCount >= snapshotEvery
  const changes_since_snapshot = isSnapshotDue ? 0 : changeCount
  set.put(kind, id, { row: { ...put, changes_since_snapshot }, record: next })
  if (!isChanged) return 'changed'
  touched.add(kind, id)
  if (old && kind === 'market') batch.known.push(id)
  if (old) log.append(kind, id, 'changed', diffRecords(kind, old, next))
  else log.append(kind, id, 'created')
  if (isSnapshotDue) batch.snapshots.push({ kind, id, seq: log.seq(), fields: put.fields, links: put.links })
  if (kind === 'market') set.putSlugs(id, put.slug, parsePastSlugs(next.fields.pastSlugs), log.seq())
  touchReferences(batch, kind, old, next, row, put)
  return 'changed'
}

/** The new state of a record, fields in the order of the contract. */
export function mergeRecord(
  old: StoredRecord | undefined,
  { kind, partial }: MarketRecord,
  normalized: NormalizedRecord,
): StoredRecord {
  const links = orderLinks(kind, { ...old?.links, ...normalized.links })
  if (!old || !partial) return { fields: normalized.fields, links }
  const emptied = new Set(normalized.emptied)
  const fields: Record<string, unknown> = {}
  for (const name of ownFields[kind]) {
    const value = normalized.fields[name] ?? (emptied.has(name) ? undefined : old.fields[name])
    if (value !== undefined) fields[name] = value
  }
  return { fields, links }
}

function mergeExtraFields(
  old: string | null | undefined,
  { partial, fields }: MarketRecord,
  { extraFields }: NormalizedRecord,
): string | null {
  if (!partial || !old) return extraFields ? stringifyJson(extraFields) : null
  const unchanged = Object.entries(parseJson(old) as object).filter(([name]) => fields[name] === undefined)
  const merged = { ...Object.fromEntries(unchanged), ...extraFields }
  return Object.keys(merged).length > 0 ? stringifyJson(merged) : null
}

/** If the slug, the title or the link of a record changed, the records that show its reference are affected too. */
function touchReferences(
  { touched }: PutBatch,
  kind: KindName,
  old: StoredRecord | undefined,
  next: StoredRecord,
  was?: RecordNames,
  is?: RecordNames,
) {
  const through = kinds[kind].shownThrough
  if (through === undefined) return
  const before = old?.links[through] ?? []
  const now = next.links[through] ?? []
  if (was && was.slug === is?.slug && was.title === is.title && before.join() === now.join()) return
  const to = kinds[kind].links[through]?.to
  if (to) for (const target of [...before, ...now]) touched.add(to, target)
}

/** How far the clock of a source may be ahead of ours. */
const aheadMaxMs = 60_000

function isOlder(stated: unknown, stored: unknown, nowMs: number): boolean {
  if (stated === stored) return false
  const [statedMs, storedMs] = [sourceMs(stated), sourceMs(stored)]
  if (statedMs === undefined || storedMs === undefined) return false
  return statedMs < storedMs && storedMs <= nowMs + aheadMaxMs
}

export const textOrNull = (value: unknown): string | null => (typeof value === 'string' ? value : null)

/** An empty list is a value (behaviour/markets.md#fields-without-a-value); a missing single record is not. */
const orderLinks = (kind: KindName, links: NormalizedRecord['links']): Links =>
  Object.fromEntries(
    Object.entries(kinds[kind].links).flatMap(([name, { one }]) => {
      const ids = links[name]
      return ids && (ids.length > 0 || !one) ? [[name, ids]] : []
    }),
  )
