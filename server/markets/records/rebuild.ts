// Finds the markets that show a changed record and writes their documents, plain and gzipped, at once or deferred.
import { gzipSync } from 'node:zlib'
import { createPause, type EventLoop } from '#runtime/pause-while-busy.ts'
import { putRow } from '#storage/put-row.ts'
import type { State, StateReader, StateWriter } from '#storage/state.ts'
import { EventLoopYielder, statementSteps } from '../event-loop-yielder.ts'
import { openVersionLog } from '../history/versions.ts'
import { putSearchRow } from '../search/search.ts'
import { type Document, type WrittenTexts, writeMarket } from './documents.ts'
import { type KindName, kindNames } from './kinds.ts'
import { currentRecords, loadRecordGraph, marketNames } from './record-graph.ts'

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
  const markets: string[] = []
  const yielder = new EventLoopYielder()
  // Iterating a map also visits entries that are added during the iteration.
  for (const { kind, id } of touched.all.values()) {
    if (kind === 'market') {
      markets.push(id)
      if (markets.length > countMax) return undefined
      continue
    }
    const sql = 'select from_kind, from_id from market_links where to_kind = ? and to_id = ? limit ?'
    const parents = await tx.all<{ from_kind: KindName; from_id: string }>(sql, kind, id, countMax + 1)
    if (parents.length > countMax) return undefined
    for (const { from_kind, from_id } of parents) touched.add(from_kind, from_id)
    await yielder.spend(statementSteps + parents.length)
  }
  return markets
}

/** Records what was touched, so that `writeDeferred` can write the documents later. */
export async function deferDocuments(tx: StateWriter, touched: TouchedRecords): Promise<void> {
  const rows = [...touched.all.values()].map(({ kind, id }) => [kind, id])
  await tx.insertMany('market_deferred_documents', ['kind', 'id'], rows, 'on conflict (kind, id) do nothing')
}

/** Rows and documents per transaction, because other writers wait for it. Writing ten documents takes about 8 ms. */
const raisedBatch = 200
const documentsBatch = 10

/** Writes deferred documents in batches and returns how many changed. An interrupted run can be continued. */
export async function writeDeferred(
  state: State,
  nowMs: () => number,
  { signal, eventLoop }: { readonly signal?: AbortSignal; readonly eventLoop?: EventLoop } = {},
): Promise<number> {
  if (!(await state.get('select 1 as one from market_deferred_documents limit 1'))) return 0
  const pause = createPause(eventLoop)
  while (!signal?.aborted && (await state.write(raiseDeferred))) await pause()
  for (let count = 0; ; await pause()) {
    if (signal?.aborted) return count
    const batch = await state.write((tx) => writeDeferredBatch(tx, nowMs()))
    if (!batch) return count
    count += batch.written
  }
}

const belowMarkets = kindNames.filter((kind) => kind !== 'market')

/** Replaces some touched records by the records that show them. When it returns false, only markets are left. */
async function raiseDeferred(tx: StateWriter): Promise<boolean> {
  const rows = await tx.all<{ kind: KindName; id: string }>(
    `select kind, id from market_deferred_documents where kind in (${belowMarkets.map(() => '?').join()}) limit ?`,
    ...[...belowMarkets, raisedBatch],
  )
  const yielder = new EventLoopYielder()
  for (const { kind, id } of rows) {
    await deferShowing(tx, kind, id, yielder)
    await tx.run('delete from market_deferred_documents where kind = ? and id = ?', kind, id)
    await yielder.spend(statementSteps)
  }
  return rows.length > 0
}

/** Parents per statement. All markets may show the same tag, and requests wait for a statement. */
const parentsBatch = 500

/** Defers the records that show this one. */
async function deferShowing(tx: StateWriter, kind: KindName, id: string, yielder: EventLoopYielder): Promise<void> {
  for (let after: readonly [string, string] = ['', '']; ; ) {
    const parents = await tx.all<{ kind: string; id: string }>(
      `select from_kind as kind, from_id as id from market_links
       where to_kind = ? and to_id = ? and (from_kind, from_id) > (?, ?) order by from_kind, from_id limit ?`,
      ...[kind, id, ...after, parentsBatch],
    )
    const rows = parents.map((parent) => [parent.kind, parent.id] as const)
    await tx.insertMany('market_deferred_documents', ['kind', 'id'], rows, 'on conflict (kind, id) do nothing')
    await yielder.spend(2 * statementSteps + parents.length)
    const last = rows.at(-1)
    if (!last || rows.length < parentsBatch) return
    after = last
  }
}

async function writeDeferredBatch(tx: StateWriter, nowMs: number): Promise<{ readonly written: number } | undefined> {
  const sql = "select id from market_deferred_documents where kind = 'market' order by id limit ?"
  const rows = await tx.all<{ id: string }>(sql, documentsBatch)
  if (rows.length === 0) return undefined
  const log = await openVersionLog(tx, nowMs)
  const ids = rows.map(({ id }) => id)
  const written = await writeDocuments(tx, ids, log.atMs)
  await log.close(written > 0)
  for (const id of ids) await tx.run("delete from market_deferred_documents where kind = 'market' and id = ?", id)
  return { written }
}

/** The cost of writing a document, in rows read. */
const documentSteps = 250

/** Returns how many documents have new bytes. Yields to the event loop, so that requests are served meanwhile. */
export async function writeDocuments(tx: StateWriter, ids: readonly string[], atMs: number): Promise<number> {
  const graph = await loadRecordGraph(currentRecords(tx), marketNames(ids))
  const texts: WrittenTexts = new Map()
  const yielder = new EventLoopYielder()
  let count = 0
  for (const id of ids) {
    const document = writeMarket(graph, id, texts)
    const slug = graph.record('market', id)?.fields.slug
    if (!document) continue
    if (await putDocument(tx, id, String(slug ?? ''), document, atMs)) count += 1
    await putSearchRow(tx, graph, id)
    await yielder.spend(documentSteps)
  }
  return count
}

/** An unchanged document keeps its `modified_ms`. */
async function putDocument(tx: StateWriter, id: string, slug: string, document: Document, atMs: number) {
  const { body, tagsAt, etag } = document
  const old = await tx.get<{ etag: string }>('select etag from market_documents where market_id = ?', id)
  if (old?.etag === etag) return false
  const content = { body, body_gzip: gzipBody(body), tags_at: tagsAt, etag }
  await putRow(tx, 'market_documents', ['market_id'], { market_id: id, slug, ...content, modified_ms: atMs })
  return true
}

/** Null if the body is too short to be worth it. */
export const gzipBody = (body: Uint8Array): Uint8Array | null =>
  body.byteLength < gzipBytesMin ? null : gzipSync(body, { level: gzipLevel })
