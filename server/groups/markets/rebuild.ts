// Which markets show a changed record, and their documents written anew, plain and packed.
import { gzipSync } from 'node:zlib'
import type { StateWriter } from '#store/state.ts'
import { type Document, type Written, writeMarket } from './documents.ts'
import type { KindName } from './kinds.ts'
import { loadLibrary, presentRecords } from './library.ts'

/** Below this, packing saves less than a packet. */
const packedFrom = 1024
/** Half the time of the usual level for a few percent more bytes; an event of 300 markets packs 300 documents. */
const packLevel = 3

/** Records whose text in a document may be another now. */
export class Touched {
  readonly all = new Map<string, { kind: KindName; id: string }>()
  add(kind: KindName, id: string): void {
    this.all.set(`${kind}/${id}`, { kind, id })
  }
}

/** Upwards from every touched record to the markets. */
export async function marketsShowing(tx: StateWriter, touched: Touched): Promise<string[]> {
  const markets: string[] = []
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
  }
  return markets
}

/** Resolves to how many documents have new bytes. */
export async function writeDocuments(tx: StateWriter, ids: readonly string[], atMs: number): Promise<number> {
  const library = await loadLibrary(presentRecords(tx), ids)
  const texts: Written = new Map()
  let count = 0
  for (const id of ids) {
    const document = writeMarket(library, id, texts)
    const slug = library.record('market', id)?.fields.slug
    if (document && (await putDocument(tx, id, String(slug ?? ''), document, atMs))) count += 1
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
    pack(body),
    tagsAt,
    etag,
    atMs,
  )
  return true
}

/** Gzip of a body; null where that is not worth it. */
export const pack = (body: Uint8Array): Uint8Array | null =>
  body.byteLength < packedFrom ? null : gzipSync(body, { level: packLevel })
