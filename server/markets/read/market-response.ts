// Finds the response about a market, by slug (current or past) or by id. It is composed from the current records. Recent
// responses are cached in memory with their headers.
//
// A response of another version than the newest known one is sent, but not cached (response-cache.ts).
import { type Awaitable, whenReady } from '#core/awaitable.ts'
import { httpDate } from '#http/etag.ts'
import type { HandlerResult } from '#http/handler.ts'
import type { StateReader } from '#storage/state.ts'
import type { MarketsContext } from '../context.ts'
import { withoutTags } from '../records/documents.ts'
import { gzipBody } from '../records/gzip-body.ts'
import type { MarketKey } from '../records/kinds.ts'
import { type ComposedMarket, composeMarkets } from './compose-markets.ts'
import { findMarketId } from './slug-precedence.ts'
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
  const { responses } = markets
  // The primary may have a market, or a version of it, that a replica lacks.
  const read = await ingest.recent.snapshot(
    async (reader) => responses.isRecent((await readHistoryHead(reader)).seq),
    async (reader) => ({ ...(await readMarket(reader, key)), seq: (await readHistoryHead(reader)).seq }),
  )
  const {
    market,
    vanishedMs = null,
    seq,
  } = read.market || !ingest.hasReplicas ? read : await readFromPrimary(ingest, key)
  if (!market) return undefined
  const requestedSlug = typeof key === 'string' ? key : market.slug
  const forms = buildForms(market, vanishedMs, requestedSlug, settings.markets.maxAgeSeconds)
  responses.keep(cacheKey, forms, market.shown, seq, settings.markets.cacheMegabytes * 2 ** 20)
  return forms
}

const readFromPrimary = (ingest: MarketsContext['ingest'], key: MarketKey) =>
  ingest.snapshot(async (reader) => ({
    ...(await readMarket(reader, key)),
    seq: (await readHistoryHead(reader)).seq,
  }))

async function readMarket(reader: StateReader, key: MarketKey) {
  const id = typeof key === 'string' ? await findMarketId(reader, key) : key.id
  if (id === undefined) return {}
  const market = (await composeMarkets(reader, [id])).get(id)
  const sql = `select vanished_ms as "vanishedMs" from market_records where kind = 'market' and id = ?`
  const row = market && (await reader.get<{ vanishedMs: number | null }>(sql, id))
  return { market, vanishedMs: row?.vanishedMs }
}

function buildForms(
  { body, tagsAt, etag, slug, modifiedMs }: ComposedMarket,
  vanishedMs: number | null,
  requestedSlug: string,
  maxAgeSeconds: number,
): ResponseForms {
  // Each form needs its own ETag. The forms are derived from one document, so a suffix suffices.
  const toResponse = (bytes: Uint8Array, suffix: string, query: string): MarketResponse => {
    const tag = suffix === '' ? etag : `${etag.slice(0, -1)}-${suffix}"`
    const contentLocation = slug !== requestedSlug && {
      'content-location': `/markets/slug/${encodeURIComponent(slug)}${query}`,
    }
    const headers = {
      etag: tag,
      'last-modified': httpDate(modifiedMs),
      'cache-control': `public, max-age=${maxAgeSeconds}`,
      vary: 'accept-encoding',
      ...(suffix.includes('g') && { 'content-encoding': 'gzip' }),
      ...contentLocation,
      // See behaviour/markets.md#vanished-markets.
      'x-tetrad-as-of': new Date(vanishedMs ?? modifiedMs).toISOString(),
    }
    return {
      slug,
      bytes,
      etag: tag,
      modifiedMs,
      vanished: vanishedMs !== null,
      headers,
    }
  }
  const buildForm = (tags: boolean, isGzip: boolean): MarketResponse => {
    const isWhole = tags || tagsAt < 0
    const bytes = isWhole ? body : withoutTags(body, tagsAt)
    const gzipped = isGzip ? gzipBody(bytes) : null
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
    // An upper limit of all four forms together. The compressed ones take less than half.
    byteCount: 3 * body.byteLength,
  }
}
