// Finds the finished response about a market, by slug (current or past) or by id. Recent responses are cached in memory
// with their headers. If a bulk write postponed the document (behaviour/markets.md#bulk-writes), it is composed for the
// request.
//
// A response of another revision than the newest known one is sent, but not cached (response-cache.ts).
import { type Awaitable, whenReady } from '#core/awaitable.ts'
import { Fault } from '#core/fault.ts'
import { httpDate } from '#http/etag.ts'
import type { HandlerResult } from '#http/handler.ts'
import type { StateReader } from '#storage/state.ts'
import type { MarketsContext } from '../context.ts'
import { withoutTags } from '../records/documents.ts'
import { gzipBody } from '../records/gzip-body.ts'
import type { MarketKey } from '../records/kinds.ts'
import { marketAsOf } from './market-as-of.ts'
import { slugOrder, slugsWithDocuments } from './slug-precedence.ts'
import { readHistoryHead } from './versions.ts'

export interface MarketResponse {
  /** The market's current slug. */
  readonly slug: string
  readonly bytes: Uint8Array
  readonly etag: string
  readonly modifiedMs: number
  /** No feed lists it any more. */
  readonly vanished: boolean
  /** `x-tetrad-as-of` is the time of the last change or, if vanished, when a feed last listed it. */
  readonly headers: Record<string, string>
  /** The last result, with the coverage and time of the feeds that it reports. */
  latest?: { readonly coverage: string; readonly asOf: string | undefined; readonly result: MarketResult }
}

type MarketResult = HandlerResult<never> & { readonly is: 'bytes'; readonly headers: Record<string, string> }

/** The response in four forms: with or without tags, plain or gzipped. Each is built when it is first requested. */
export interface ResponseForms {
  readonly form: (tags: boolean, isGzip: boolean) => MarketResponse
  readonly byteCount: number
}

interface DocumentRow {
  readonly id: string
  readonly slug: string
  readonly body: Uint8Array
  readonly body_gzip: Uint8Array | null
  readonly vanished_ms: number | null
  readonly tags_at: number
  readonly etag: string
  readonly modified_ms: number
  /** Of all markets, in the same snapshot. */
  readonly revision: number
}

const columns = `d.slug, d.body, d.body_gzip, d.tags_at, d.etag, d.modified_ms, d.vanished_ms,
  (select revision from market_revision) as revision`

const selectBySlug = `select s.market_id as id, ${columns} from ${slugsWithDocuments} order by ${slugOrder} limit 1`

const selectById = `
  select r.id, ${columns}
  from market_records r left join market_documents d on d.market_id = r.id
  where r.kind = 'market' and r.id = ?`

export function findMarketResponse(
  context: MarketsContext,
  key: MarketKey,
  tags: boolean,
  isGzip = false,
): Awaitable<MarketResponse | undefined> {
  const { responses } = context.markets
  // No slug has a slash.
  const cacheKey = typeof key === 'string' ? key : `id/${key.id}`
  return whenReady<void, MarketResponse | undefined>(responses.dropOutdated(context.ingest), () => {
    const cached = responses.find(cacheKey)
    if (cached) return cached.form(tags, isGzip)
    return readForms(context, key, cacheKey).then((forms) => forms?.form(tags, isGzip))
  })
}

async function readForms(
  { ingest, settings, markets }: MarketsContext,
  key: MarketKey,
  cacheKey: string,
): Promise<ResponseForms | undefined> {
  const isSlug = typeof key === 'string'
  const [sql, value] = isSlug ? [selectBySlug, key] : [selectById, key.id]
  const read = (reader: StateReader) => reader.get<DocumentRow | UnwrittenRow>(sql, value)
  // The primary may have a market, or a version of it, that a replica lacks.
  const replicaRow = ingest.hasReplicas ? await read(ingest.recent) : undefined
  const isRecent = replicaRow !== undefined && markets.responses.isRecent(replicaRow.revision ?? -1)
  const row = isRecent ? replicaRow : await read(ingest)
  if (!row) return undefined
  const whole = row.body === null ? await composeUnwritten(ingest, row.id) : row
  if (!whole) throw beingWritten()
  const forms = buildForms(whole, isSlug ? key : whole.slug, settings.markets.maxAgeSeconds)
  if (whole === row) markets.responses.keep(cacheKey, forms, whole.revision, settings.markets.cacheMegabytes * 2 ** 20)
  return forms
}

type UnwrittenRow = { readonly [name in keyof DocumentRow]: name extends 'id' ? string : null }

/**
 * The document of a market that a bulk write has stored without one. Undefined if it has too many related records to be
 * composed for one request. It is composed as of the newest version, so it is consistent, whatever is committed meanwhile.
 */
export async function composeUnwritten(
  reader: StateReader,
  id: string,
  yieldOnce?: () => Promise<void>,
): Promise<DocumentRow | undefined> {
  const { atMs } = await readHistoryHead(reader)
  const market = await marketAsOf(reader, { id }, atMs, { yieldOnce }).catch((error: unknown) => {
    if (error instanceof Fault && error.code === 'markets.too_many_changes') return undefined
    throw error
  })
  return (
    market && { ...market, tags_at: market.tagsAt, body_gzip: null, modified_ms: atMs, vanished_ms: null, revision: -1 }
  )
}

export const beingWritten = (): Fault =>
  new Fault('markets.not_covered', {
    message: 'This market has been stored, and its response is being prepared.',
    retryAfterMs: 10_000,
  })

function buildForms(row: DocumentRow, requestedSlug: string, maxAgeSeconds: number): ResponseForms {
  const { body, body_gzip: bodyGzip, tags_at: tagsAt, etag } = row
  // Each form needs its own ETag. The forms are derived from one document, so a suffix suffices.
  const toResponse = (bytes: Uint8Array, suffix: string, query: string): MarketResponse => {
    const tag = suffix === '' ? etag : `${etag.slice(0, -1)}-${suffix}"`
    const contentLocation = row.slug !== requestedSlug && {
      'content-location': `/markets/slug/${encodeURIComponent(row.slug)}${query}`,
    }
    const headers = {
      etag: tag,
      'last-modified': httpDate(row.modified_ms),
      'cache-control': `public, max-age=${maxAgeSeconds}`,
      vary: 'accept-encoding',
      ...(suffix.includes('g') && { 'content-encoding': 'gzip' }),
      ...contentLocation,
      // See behaviour/markets.md#vanished-markets.
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
  const buildForm = (tags: boolean, isGzip: boolean): MarketResponse => {
    const isWhole = tags || tagsAt < 0
    const bytes = isWhole ? body : withoutTags(body, tagsAt)
    const gzipped = isGzip ? (isWhole ? bodyGzip : gzipBody(bytes)) : null
    const suffix = `${isWhole ? '' : 't'}${gzipped ? 'g' : ''}`
    return toResponse(gzipped ?? bytes, suffix, tags ? '' : '?include_tag=false')
  }
  const forms: MarketResponse[] = []
  return {
    form(tags, isGzip) {
      const at = (tags ? 2 : 0) + (isGzip ? 1 : 0)
      forms[at] ??= buildForm(tags, isGzip)
      return forms[at]
    },
    // An upper limit: counts all four forms.
    byteCount: 2 * (body.byteLength + (bodyGzip?.byteLength ?? 0)),
  }
}
