// Finds the markets that show a changed record and writes their documents, plain and gzipped, at once or deferred.
import { gzipSync } from 'node:zlib'
import { nextEventLoopTurn } from '#runtime/clock.ts'
import { replaceOnConflict } from '#storage/put-row.ts'
import type { State, StateReader, StateWriter, Value } from '#storage/state.ts'
import { openVersionLog } from '../history/versions.ts'
import { putSearchRows } from '../search/search-rows.ts'
import { type WrittenTexts, writeMarket } from './documents.ts'
import { type KindName, kindNames } from './kinds.ts'
import { loadRecordGraph, marketNames, type RecordName, readCurrentRecords } from './record-graph.ts'
import { partSizes } from './write-parts.ts'

/** Below this size, gzip saves less than a packet. */
const gzipBytesMin = 1024
/** Half the time of the default level for a few percent more bytes. A change of an event may rewrite 300 documents. */
const gzipLevel = 3

/** Records whose text in a document may have changed. */
export class TouchedRecords {
  readonly all = new Map<string, { kind: KindName; id: string }>()
  add(kind: KindName, id: string): void {
    this.all.set(`${kind}/${id}`, { kind, id })
  }
}

/**
 * Follows the links from the touched records to the markets that show them, and adds what it finds to `touched`. Returns
 * undefined if there may be more than `countMax` of them.
 */
export async function findMarketsShowing(
  tx: StateReader,
  touched: TouchedRecords,
  countMax: number,
): Promise<string[] | undefined> {
  const seen = new Set<string>()
  for (;;) {
    const fresh = [...touched.all].filter(([name, { kind }]) => kind !== 'market' && !seen.has(name))
    if (fresh.length === 0) break
    for (let from = 0; from < fresh.length; from += touchedPerQuery) {
      const part = fresh.slice(from, from + touchedPerQuery)
      const rowsMax = Math.min(unlimited, countMax * part.length)
      const parents = await tx.all<{ from_kind: KindName; from_id: string }>(
        `select l.from_kind, l.from_id from json_each(?) as k
         join market_links l on l.to_kind = k.value ->> 0 and l.to_id = k.value ->> 1 limit ?`,
        ...[JSON.stringify(part.map(([, { kind, id }]) => [kind, id])), rowsMax + 1],
      )
      if (parents.length > rowsMax) return undefined
      for (const [name] of part) seen.add(name)
      for (const { from_kind, from_id } of parents) touched.add(from_kind, from_id)
      if (countMarkets(touched) > countMax) return undefined
    }
  }
  const markets = [...touched.all.values()].filter(({ kind }) => kind === 'market').map(({ id }) => id)
  return markets.length > countMax ? undefined : markets
}

const unlimited = 2 ** 31
const countMarkets = ({ all }: TouchedRecords): number =>
  [...all.values()].reduce((sum, { kind }) => sum + (kind === 'market' ? 1 : 0), 0)

/** Records what was touched, so that `writeDeferred` can write the documents later. */
export async function deferDocuments(tx: StateWriter, touched: TouchedRecords): Promise<void> {
  await deferAll(tx, [...touched.all.values()])
}

/** Records whose parents are read with one query. */
const touchedPerQuery = 200

/** Whether an import or a first pass has left documents to write. */
export const hasDeferred = async (state: StateReader): Promise<boolean> =>
  (await state.get('select 1 as one from market_deferred_documents limit 1')) !== undefined

/**
 * Writes deferred documents in batches and returns how many changed. An interrupted run can be continued. Between batches,
 * the thread handles signals and calls.
 */
export async function writeDeferred(
  state: State,
  nowMs: () => number,
  { signal }: { readonly signal?: AbortSignal } = {},
): Promise<number> {
  if (!(await hasDeferred(state))) return 0
  const sizes = partSizes[state.engine]
  while (!signal?.aborted && (await state.write((tx) => raiseDeferred(tx, sizes), { lock: 'markets' })))
    await nextEventLoopTurn()
  for (let count = 0; ; await nextEventLoopTurn()) {
    if (signal?.aborted) return count
    const batch = await state.write((tx) => writeDeferredBatch(tx, sizes.deferred, nowMs()), { lock: 'markets' })
    if (!batch) return count
    count += batch.written
  }
}

const belowMarkets = kindNames.filter((kind) => kind !== 'market')

/** Replaces some touched records by the records that show them. When it returns false, only markets are left. */
async function raiseDeferred(tx: StateWriter, sizes: RaiseSizes): Promise<boolean> {
  const rows = await tx.all<{ kind: KindName; id: string }>(
    `select kind, id from market_deferred_documents where kind in (${belowMarkets.map(() => '?').join()}) limit ?`,
    ...[...belowMarkets, sizes.raised],
  )
  if (rows.length === 0) return false
  const names = rows.map(({ kind, id }) => [kind, id] as const)
  await tx.deleteMany('market_deferred_documents', ['kind', 'id'], names)
  await deferParents(tx, names, sizes.parents)
  return true
}

/** Defers the records that show these. If there are too many for one statement, each half is tried alone. */
async function deferParents(tx: StateWriter, names: readonly RecordName[], parentsMax: number): Promise<void> {
  const [first] = names
  if (!first) return
  if (names.length === 1) return deferShowing(tx, ...first, parentsMax)
  const parents = await tx.all<{ kind: string; id: string }>(
    `select distinct l.from_kind as kind, l.from_id as id from json_each(?) as k
     join market_links l on l.to_kind = k.value ->> 0 and l.to_id = k.value ->> 1 limit ?`,
    ...[JSON.stringify(names), parentsMax + 1],
  )
  if (parents.length <= parentsMax) {
    await deferAll(tx, parents)
    return
  }
  const half = Math.ceil(names.length / 2)
  await deferParents(tx, names.slice(0, half), parentsMax)
  await deferParents(tx, names.slice(half), parentsMax)
}

type RaiseSizes = Pick<(typeof partSizes)['sqlite'], 'raised' | 'parents'>

const deferAll = (tx: StateWriter, names: readonly { readonly kind: string; readonly id: string }[]) =>
  tx.insertMany(
    'market_deferred_documents',
    ['kind', 'id'],
    names.map(({ kind, id }) => [kind, id]),
    'on conflict (kind, id) do nothing',
  )

/** Defers the records that show this one, a limited number per statement. */
async function deferShowing(tx: StateWriter, kind: KindName, id: string, parentsBatch: number): Promise<void> {
  for (let after: readonly [string, string] = ['', '']; ; ) {
    const parents = await tx.all<{ kind: string; id: string }>(
      `select from_kind as kind, from_id as id from market_links
       where to_kind = ? and to_id = ? and (from_kind, from_id) > (?, ?) order by from_kind, from_id limit ?`,
      ...[kind, id, ...after, parentsBatch],
    )
    await deferAll(tx, parents)
    const last = parents.at(-1)
    if (!last || parents.length < parentsBatch) return
    after = [last.kind, last.id]
  }
}

async function writeDeferredBatch(
  tx: StateWriter,
  documents: number,
  nowMs: number,
): Promise<{ readonly written: number } | undefined> {
  const sql = "select id from market_deferred_documents where kind = 'market' order by id limit ?"
  const rows = await tx.all<{ id: string }>(sql, documents)
  if (rows.length === 0) return undefined
  const log = await openVersionLog(tx, nowMs)
  const ids = rows.map(({ id }) => id)
  const written = await writeDocuments(tx, ids, log.atMs)
  await log.close(written > 0)
  await tx.deleteMany(
    'market_deferred_documents',
    ['kind', 'id'],
    ids.map((id) => ['market', id]),
  )
  return { written }
}

/** Returns how many documents have new bytes. */
export async function writeDocuments(tx: StateWriter, ids: readonly string[], atMs: number): Promise<number> {
  if (ids.length === 0) return 0
  const starts = marketNames(ids)
  const graph = await loadRecordGraph(await readCurrentRecords(tx, starts), starts)
  const stored = await tx.all<{ id: string; etag: string }>(
    'select market_id as id, etag from market_documents where market_id in (select atom from json_each(?))',
    JSON.stringify(ids),
  )
  const etags = new Map(stored.map(({ id, etag }) => [id, etag]))
  const texts: WrittenTexts = new Map()
  const shown: string[] = []
  const rows: Value[][] = []
  for (const id of ids) {
    const document = writeMarket(graph, id, texts)
    if (!document) continue
    shown.push(id)
    const { body, tagsAt, etag } = document
    const slug = String(graph.record('market', id)?.fields.slug ?? '')
    // An unchanged document keeps its `modified_ms`.
    if (etags.get(id) !== etag) rows.push([id, slug, body, gzipBody(body), tagsAt, etag, atMs])
  }
  await tx.insertMany('market_documents', documentColumns, rows, replaceOnConflict(['market_id'], documentColumns))
  await putSearchRows(tx, graph, shown)
  return rows.length
}

const documentColumns = ['market_id', 'slug', 'body', 'body_gzip', 'tags_at', 'etag', 'modified_ms']

/** Null if the body is too short to be worth it. */
export const gzipBody = (body: Uint8Array): Uint8Array | null =>
  body.byteLength < gzipBytesMin ? null : gzipSync(body, { level: gzipLevel })
