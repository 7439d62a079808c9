// A market's answer, ready to be sent: one lookup by slug, past slugs included. The answers asked for last are kept in
// memory, headers and all. One whose document has been left for later (behaviour/markets.md#bulk-writes) is put together when it is asked for.
//
// A response that was read while the store changed is sent, but not kept (response-cache.ts).

import { Fault } from '#core/fault.ts'
import { httpDate } from '#http/etag.ts'
import type { State } from '#storage/state.ts'
import type { MarketsContext } from '../context.ts'
import { marketAsOf } from '../history/market-as-of.ts'
import { readLogHead } from '../history/versions.ts'
import { withoutTags } from './documents.ts'
import { gzipBody } from './rebuild.ts'

export interface MarketResponse {
  /** The market's present slug. */
  readonly slug: string
  readonly bytes: Uint8Array
  readonly etag: string
  readonly modifiedMs: number
  /** No feed shows it any more. */
  readonly vanished: boolean
  /** As of its own time: when it changed last, or was last seen. */
  readonly headers: Record<string, string>
}

/** The answer in its four forms; the rarely asked ones are made when they are asked for. */
export interface ResponseForms {
  readonly form: (tags: boolean, packed: boolean) => MarketResponse
  readonly byteCount: number
}

interface DocumentRow {
  readonly slug: string
  readonly body: Uint8Array
  readonly packed: Uint8Array | null
  readonly vanished_ms: number | null
  readonly tags_at: number
  readonly etag: string
  readonly modified_ms: number
}

/** A present slug beats a past one; among several past ones the market that changed last (behaviour/markets.md#past-slugs). */
const selectBySlug = `
  select d.slug, d.body, d.packed, d.tags_at, d.etag, d.modified_ms, d.vanished_ms
  from market_slugs s left join market_documents d on d.market_id = s.market_id
  where s.slug = ? order by s.past, s.seq desc, s.market_id limit 1`

export async function findMarketResponse(
  context: MarketsContext,
  slug: string,
  tags: boolean,
  isGzip = false,
): Promise<MarketResponse | undefined> {
  const { state, settings } = context
  const { responses } = context.markets
  await responses.dropOutdated(state)
  let forms = responses.find(slug)
  if (!forms) {
    const version = state.version()
    const row = await state.get<DocumentRow | UnwrittenRow>(selectBySlug, slug)
    if (!row) return undefined
    const whole = row.body === null ? await buildUnwritten(state, slug) : row
    forms = buildForms(whole, slug, settings.markets.maxAgeSeconds)
    if (whole === row && state.version() === version)
      responses.keep(slug, forms, settings.markets.cacheMegabytes * 2 ** 20)
  }
  return forms.form(tags, isGzip)
}

type UnwrittenRow = { readonly [name in keyof DocumentRow]: null }

/** As of the newest entry of the log, which is one moment of the store whatever is committed while it is put together. */
async function buildUnwritten(state: State, slug: string): Promise<DocumentRow> {
  const { atMs } = await readLogHead(state)
  const market = await marketAsOf(state, slug, atMs).catch((error: unknown) => {
    if (error instanceof Fault && error.code === 'markets.too_much') return undefined
    throw error
  })
  if (!market) throw new Fault('markets.not_covered', beingWrittenFault)
  return { ...market, tags_at: market.tagsAt, packed: null, modified_ms: atMs, vanished_ms: null }
}

/** More is drawn together for it than a call may read: it waits for its document. */
const beingWrittenFault = { message: 'This market has come in and its answer is being written.', retryAfterMs: 10_000 }

function buildForms(row: DocumentRow, askedSlug: string, maxAgeSeconds: number): ResponseForms {
  const { body, tags_at: tagsAt, etag } = row
  // Other bytes need another tag; these bytes follow from those, so their tags may too.
  const toResponse = (bytes: Uint8Array, suffix: string, query: string): MarketResponse => {
    const tag = suffix === '' ? etag : `${etag.slice(0, -1)}-${suffix}"`
    const contentLocation = row.slug !== askedSlug && {
      'content-location': `/markets/slug/${encodeURIComponent(row.slug)}${query}`,
    }
    const headers = {
      etag: tag,
      'last-modified': httpDate(row.modified_ms),
      'cache-control': `public, max-age=${maxAgeSeconds}`,
      vary: 'accept-encoding',
      ...(suffix.includes('g') && { 'content-encoding': 'gzip' }),
      ...contentLocation,
      // Where no feed shows it any more, what is known of it is as of then (behaviour/markets.md#vanished-markets).
      'x-tetrad-as-of': new Date(row.vanished_ms ?? row.modified_ms).toISOString(),
    }
    return {
      slug: row.slug,
      bytes,
      etag: tag,
      modifiedMs: row.modified_ms,
      vanished: row.vanished_ms !== null,
      headers,
    }
  }
  const plain = toResponse(body, '', '')
  const gzipped = row.packed ? toResponse(row.packed, 'g', '') : plain
  const bareQuery = '?include_tag=false'
  const bodyWithoutTags = lazy(() => withoutTags(body, tagsAt))
  const withoutTagsForm = lazy(() => toResponse(bodyWithoutTags(), tagsAt < 0 ? '' : 't', bareQuery))
  const withoutTagsGzipped = lazy(() => {
    if (tagsAt < 0) return row.packed ? toResponse(row.packed, 'g', bareQuery) : withoutTagsForm()
    const bytes = gzipBody(bodyWithoutTags())
    return bytes ? toResponse(bytes, 'tg', bareQuery) : withoutTagsForm()
  })
  return {
    form: (tags, isGzip) => (tags ? (isGzip ? gzipped : plain) : isGzip ? withoutTagsGzipped() : withoutTagsForm()),
    // Counted as if all four were there: they may be.
    byteCount: 2 * (body.byteLength + (row.packed?.byteLength ?? 0)),
  }
}

function lazy<T>(make: () => T): () => T {
  let made: T | undefined
  return () => {
    made ??= make()
    return made
  }
}
