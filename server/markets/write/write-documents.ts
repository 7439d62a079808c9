// Writes the documents of markets, plain and gzipped, together with their rows of the search index.
import { replaceOnConflict } from '#storage/put-row.ts'
import type { StateWriter, Value } from '#storage/state.ts'
import { readCurrentRecords } from '../read/current-records.ts'
import { type WrittenTexts, writeMarket } from '../records/documents.ts'
import { gzipBody } from '../records/gzip-body.ts'
import { loadRecordGraph, marketNames } from '../records/record-graph.ts'
import { putSearchRows } from './search-rows.ts'

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
