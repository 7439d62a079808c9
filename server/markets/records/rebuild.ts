// Which markets show a changed record, and their documents written anew, plain and packed.
import { gzipSync } from 'node:zlib'
import { nextEventLoopTurn } from '#runtime/clock.ts'
import type { State, StateReader, StateWriter } from '#storage/state.ts'
import { EventLoopYielder, statementSteps } from '../event-loop-yielder.ts'
import { VersionLog } from '../history/versions.ts'
import { putSearchRow } from '../search/search.ts'
import { type Document, type WrittenTexts, writeMarket } from './documents.ts'
import { type KindName, kindNames } from './kinds.ts'
import { currentRecords, loadRecordGraph } from './record-graph.ts'

/** Below this, packing saves less than a packet. */
const gzipBytesMin = 1024
/** Half the time of the usual level for a few percent more bytes; an event of 300 markets packs 300 documents. */
const gzipLevel = 3

/** Records whose text in a document may be another now. */
export class TouchedRecords {
  readonly all = new Map<string, { kind: KindName; id: string }>()
  add(kind: KindName, id: string): void {
    this.all.set(`${kind}/${id}`, { kind, id })
  }
}

/** Upwards from every touched record to the markets. */
export async function findMarketsShowing(tx: StateReader, touched: TouchedRecords): Promise<string[]> {
  const markets: string[] = []
  const yielder = new EventLoopYielder(nextEventLoopTurn)
  // A map's iteration also visits what is added on the way.
  for (const { kind, id } of touched.all.values()) {
    if (kind === 'market') {
      markets.push(id)
      continue
    }
    const above = await tx.all<{ from_kind: KindName; from_id: string }>(
      'select from_kind, from_id from market_links where to_kind = ? and to_id = ?',
      kind,
      id,
    )
    for (const one of above) touched.add(one.from_kind, one.from_id)
    await yielder.spend(statementSteps + above.length)
  }
  return markets
}

/** Keeps what was touched for later, where its documents need not be written now (see `settle`). */
export async function deferDocuments(tx: StateWriter, touched: TouchedRecords): Promise<void> {
  const rows = [...touched.all.values()].map(({ kind, id }) => [kind, id])
  await tx.insertMany('market_unsettled', ['kind', 'id'], rows, 'on conflict (kind, id) do nothing')
}

/** Documents written, and records put above others, in one transaction while settling: others who write wait for it. */
const deferredBatch = 200

/**
 * Writes the documents that were left for later, in the memory of one batch. Whoever is cut off here goes on where it
 * was. Resolves to how many documents changed.
 */
export async function writeDeferred(state: State, nowMs: () => number, signal?: AbortSignal): Promise<number> {
  const some = await state.get('select 1 as one from market_unsettled limit 1')
  if (!some) return 0
  while (!signal?.aborted && (await state.write(raiseDeferred))) await nextEventLoopTurn()
  for (let count = 0; ; await nextEventLoopTurn()) {
    if (signal?.aborted) return count
    const batch = await state.write((tx) => writeDeferredBatch(tx, nowMs()))
    if (!batch) return count
    count += batch.written
  }
}

const belowMarkets = kindNames.filter((kind) => kind !== 'market')

/** Puts what shows them in the place of some records that were touched; once none is left there are only markets. */
async function raiseDeferred(tx: StateWriter): Promise<boolean> {
  const rows = await tx.all<{ kind: KindName; id: string }>(
    `select kind, id from market_unsettled where kind in (${belowMarkets.map(() => '?').join()}) limit ?`,
    ...[...belowMarkets, deferredBatch],
  )
  const yielder = new EventLoopYielder(nextEventLoopTurn)
  for (const { kind, id } of rows) {
    const above = await tx.run(
      `insert into market_unsettled (kind, id)
       select from_kind, from_id from market_links where to_kind = ? and to_id = ? on conflict (kind, id) do nothing`,
      ...[kind, id],
    )
    await tx.run('delete from market_unsettled where kind = ? and id = ?', kind, id)
    await yielder.spend(2 * statementSteps + above)
  }
  return rows.length > 0
}

async function writeDeferredBatch(tx: StateWriter, nowMs: number): Promise<{ readonly written: number } | undefined> {
  const rows = await tx.all<{ id: string }>(
    "select id from market_unsettled where kind = 'market' order by id limit ?",
    deferredBatch,
  )
  if (rows.length === 0) return undefined
  const log = await VersionLog.open(tx, nowMs)
  const ids = rows.map(({ id }) => id)
  const written = await writeDocuments(tx, ids, log.atMs)
  await log.close(written > 0)
  for (const id of ids) await tx.run("delete from market_unsettled where kind = 'market' and id = ?", id)
  return { written }
}

/** What writing and packing one costs, in rows read; a large one more, but then it is one. */
const documentSteps = 250

/** Resolves to how many documents have new bytes. Callers are answered meanwhile, from what is committed. */
export async function writeDocuments(tx: StateWriter, ids: readonly string[], atMs: number): Promise<number> {
  const graph = await loadRecordGraph(currentRecords(tx), ids)
  const texts: WrittenTexts = new Map()
  const yielder = new EventLoopYielder(nextEventLoopTurn)
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

/** An unchanged document keeps its time. */
async function putDocument(tx: StateWriter, id: string, slug: string, document: Document, atMs: number) {
  const { body, tagsAt, etag } = document
  const old = await tx.get<{ etag: string }>('select etag from market_documents where market_id = ?', id)
  if (old?.etag === etag) return false
  await tx.run(
    `insert into market_documents (market_id, slug, body, packed, tags_at, etag, modified_ms) values (?, ?, ?, ?, ?, ?, ?)
     on conflict (market_id) do update set slug = excluded.slug, body = excluded.body, packed = excluded.packed,
       tags_at = excluded.tags_at, etag = excluded.etag, modified_ms = excluded.modified_ms`,
    id,
    slug,
    body,
    gzipBody(body),
    tagsAt,
    etag,
    atMs,
  )
  return true
}

/** Gzip of a body; null where that is not worth it. */
export const gzipBody = (body: Uint8Array): Uint8Array | null =>
  body.byteLength < gzipBytesMin ? null : gzipSync(body, { level: gzipLevel })
