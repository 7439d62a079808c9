// Market records in, documents out, in one transaction. Importers, feeds and the demo world all come through here.
//
// 1. A record is stored once; stating it again replaces its values and the links it names, except that a record seen
//    inside another only adds (behaviour/markets.md#partial-records). The same again changes nothing.
// 2. When the transaction commits, the document of every market that shows a changed record has been written anew: a
//    reader never sees a half update. In bulk (`later`) others than the market's own may follow; each is whole before
//    and after.
// 3. Only what shows a change is written: upwards along the links; and where a record's reference changed, from those
//    that show the reference. References do not travel further, because nothing refers to a reference.
// 4. A statement older than what is stored, by the source's own `updatedAt`, changes nothing (behaviour/markets.md#partial-records).
import { parseJson, stringifyJson } from '#api/json.ts'
import type { Problem } from '#core/fault.ts'
import { nextEventLoopTurn } from '#runtime/clock.ts'
import type { StateWriter } from '#storage/state.ts'
import { EventLoopYielder } from '../event-loop-yielder.ts'
import { sourceMs } from '../feeds/source-time.ts'
import { putSnapshot, snapshotEvery } from '../history/snapshots.ts'
import { diffRecords, VersionLog } from '../history/versions.ts'
import type { StoredRecord } from './documents.ts'
import { DriftCount } from './drift.ts'
import { type KindName, kinds, ownFields } from './kinds.ts'
import { type MarketRecord, type NormalizedRecord, normalizeRecord, parsePastSlugs } from './normalize.ts'
import { deferDocuments, findMarketsShowing, TouchedRecords, writeDocuments } from './rebuild.ts'
import { parseStoredRecord } from './record-graph.ts'

export interface Reject {
  readonly kind: KindName
  readonly id: string
  /** Empty where the record has none. */
  readonly slug: string
  /** Where it was stated. */
  readonly place: string
  readonly problems: readonly Problem[]
}

export interface PutReport {
  /** Records that were new or different. */
  readonly changed: number
  /** Documents whose bytes are new or different. */
  readonly written: number
  /** Records older than what is known. */
  readonly stale: number
  /** Records that cannot be stored; the others went in. */
  readonly rejects: readonly Reject[]
}

interface RecordRow {
  readonly slug: string | null
  readonly title: string | null
  readonly fields: string
  readonly links: string
  readonly aside: string | null
  /** Changes since its last keyframe. */
  readonly since: number
}

type Links = StoredRecord['links']

/** A market's present slug, those in its `pastSlugs`, and those that it had when it was read before. */
export const slugRanks = { present: 0, listed: 1, former: 2 } as const
type RecordNames = Pick<RecordRow, 'slug' | 'title'>

/** What one transaction keeps track of. */
interface PutBatch {
  readonly tx: StateWriter
  readonly log: VersionLog
  readonly touched: TouchedRecords
  readonly drift: DriftCount
  /** Markets that changed and were known before. */
  readonly known: string[]
}

/** An event stands in each of its markets: the same words again need not be looked up. */
function isRepeated(stated: Map<string, string>, { kind, id, fields, links }: MarketRecord): boolean {
  const name = `${kind}/${id}`
  const text = stringifyJson([fields, links])
  if (stated.get(name) === text) return true
  stated.set(name, text)
  return false
}

export interface PutOptions {
  /** Whose drift it is, where fields unknown to the contract are met. */
  readonly source?: string
  /**
   * Writes only the documents that exist and whose own market changed; the others are left for `settle`. For bulk: a
   * series of a thousand events is otherwise written a thousand times.
   */
  readonly isDeferred?: boolean
}

/** What checking and storing one costs, in rows read. */
const recordSteps = 20

export async function putMarkets(
  tx: StateWriter,
  records: Iterable<MarketRecord>,
  nowMs: number,
  { source = 'import', isDeferred = false }: PutOptions = {},
): Promise<PutReport> {
  const log = await VersionLog.open(tx, nowMs)
  const batch: PutBatch = { tx, log, touched: new TouchedRecords(), drift: new DriftCount(), known: [] }
  const rejects: Reject[] = []
  let changed = 0
  let stale = 0
  const stated = new Map<string, string>()
  const yielder = new EventLoopYielder(nextEventLoopTurn)
  for (const record of records) {
    await yielder.spend(recordSteps)
    if (isRepeated(stated, record)) continue
    const normalized = normalizeRecord(record)
    if (normalized.problems.length > 0) {
      const { kind, id, place: location = '' } = record
      rejects.push({
        kind,
        id,
        slug: textOrNull(record.fields.slug) ?? '',
        place: location,
        problems: normalized.problems,
      })
      continue
    }
    const outcome = await putRecord(batch, record, normalized)
    if (outcome === 'changed') changed += 1
    if (outcome === 'stale') stale += 1
  }
  await batch.drift.store(tx, source, nowMs)
  if (isDeferred) await deferDocuments(tx, batch.touched)
  const markets = isDeferred ? batch.known : await findMarketsShowing(tx, batch.touched)
  const written = await writeDocuments(tx, markets, log.atMs)
  await log.close(written > 0)
  return { changed, written, stale, rejects }
}

async function putRecord(
  batch: PutBatch,
  record: MarketRecord,
  normalized: NormalizedRecord,
): Promise<'same' | 'stale' | 'changed'> {
  const { kind, id } = record
  const { tx, log, touched } = batch
  const row = await tx.get<RecordRow>(
    'select slug, title, fields, links, aside, since from market_records where kind = ? and id = ?',
    kind,
    id,
  )
  const old = row && parseStoredRecord(row)
  if (old && isOlder(normalized.fields.updatedAt, old.fields.updatedAt)) return 'stale'
  const next = mergeRecord(old, record, normalized)
  const aside = mergeAside(row?.aside, record, normalized)
  const put: Omit<RecordRow, 'since'> = {
    slug: textOrNull(next.fields.slug),
    title: textOrNull(next.fields.question ?? next.fields.title),
    fields: stringifyJson(next.fields),
    links: JSON.stringify(next.links),
    aside,
  }
  const isChanged = !row || row.fields !== put.fields || row.links !== put.links
  if (!isChanged && row.aside === aside) return 'same'
  batch.drift.add(kind, normalized.drift)
  const since = isChanged && row ? row.since + 1 : (row?.since ?? 0)
  const isSnapshotDue = since >= snapshotEvery
  await tx.run(upsertRecord, kind, id, put.slug, put.title, put.fields, put.links, put.aside, isSnapshotDue ? 0 : since)
  if (!isChanged) return 'changed'
  touched.add(kind, id)
  if (old && kind === 'market') batch.known.push(id)
  await (old ? log.append(kind, id, 'changed', diffRecords(kind, old, next)) : log.append(kind, id, 'created'))
  if (isSnapshotDue) await putSnapshot(tx, kind, id, log.seq, put)
  if (row?.links !== put.links) await putLinks(tx, kind, id, old?.links ?? {}, next.links)
  if (kind === 'market') await putSlugs(tx, id, put.slug, parsePastSlugs(next.fields.pastSlugs), log.seq)
  touchReferences(batch, kind, old, next, row, put)
  return 'changed'
}

/** What is stored from now on, names in the order of the contract. */
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

function mergeAside(
  old: string | null | undefined,
  { partial, fields }: MarketRecord,
  { aside }: NormalizedRecord,
): string | null {
  if (!partial || !old) return aside ? stringifyJson(aside) : null
  const kept = Object.entries(parseJson(old) as object).filter(([name]) => fields[name] === undefined)
  const merged = { ...Object.fromEntries(kept), ...aside }
  return Object.keys(merged).length > 0 ? stringifyJson(merged) : null
}

/** Where the slug, the title or the place of a record changed, those that show its reference are written anew. */
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

function isOlder(stated: unknown, stored: unknown): boolean {
  if (stated === stored) return false
  const [statedMs, storedMs] = [sourceMs(stated), sourceMs(stored)]
  return statedMs !== undefined && storedMs !== undefined && statedMs < storedMs
}

const upsertRecord = `
  insert into market_records (kind, id, slug, title, fields, links, aside, since) values (?, ?, ?, ?, ?, ?, ?, ?)
  on conflict (kind, id) do update set slug = excluded.slug, title = excluded.title, fields = excluded.fields,
    links = excluded.links, aside = excluded.aside, since = excluded.since`

const textOrNull = (value: unknown): string | null => (typeof value === 'string' ? value : null)

/** An empty list is a value (behaviour/markets.md#fields-without-a-value); a single record that is not there is none. */
const orderLinks = (kind: KindName, links: NormalizedRecord['links']): Links =>
  Object.fromEntries(
    Object.entries(kinds[kind].links).flatMap(([name, { one }]) => {
      const ids = links[name]
      return ids && (ids.length > 0 || !one) ? [[name, ids]] : []
    }),
  )

async function putLinks(tx: StateWriter, kind: KindName, id: string, before: Links, now: Links): Promise<void> {
  await tx.run('delete from market_links where from_kind = ? and from_id = ?', kind, id)
  for (const [name, ids] of Object.entries(now)) {
    const to = kinds[kind].links[name]?.to
    if (to) for (const target of ids) await tx.run(insertLink, to, target, kind, id)
  }
  const through = kinds[kind].shownThrough ?? ''
  const to = kinds[kind].links[through]?.to
  if (!to) return
  for (const target of before[through] ?? []) {
    if (!now[through]?.includes(target)) await tx.run(insertFormerLink, to, target, kind, id)
  }
}

const insertLink = `
  insert into market_links (to_kind, to_id, from_kind, from_id) values (?, ?, ?, ?)
  on conflict (to_kind, to_id, from_kind, from_id) do nothing`
const insertFormerLink = insertLink.replace('market_links', 'market_former_links')

/** A slug that the market had once stays with it, also where the source does not list it (behaviour/markets.md#past-slugs). */
async function putSlugs(tx: StateWriter, id: string, slug: string | null, past: readonly string[], seq: number) {
  const rows = await tx.all<{ slug: string; past: number }>(
    'select slug, past from market_slugs where market_id = ?',
    id,
  )
  const before = new Map(rows.map((row) => [row.slug, row.past]))
  const now = new Map<string, number>([...before.keys()].map((one) => [one, slugRanks.former]))
  for (const one of past) now.set(one, slugRanks.listed)
  if (slug !== null) now.set(slug, slugRanks.present)
  for (const [one, rank] of now) {
    if (before.get(one) === rank) continue
    await tx.run(
      `insert into market_slugs (slug, market_id, past, seq, since) values (?, ?, ?, ?, ?)
       on conflict (slug, market_id) do update set past = excluded.past`,
      ...[one, id, rank, seq, seq],
    )
  }
  await tx.run('update market_slugs set seq = ? where market_id = ?', seq, id)
}
