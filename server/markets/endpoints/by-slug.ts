// Spec 4.8: a market by slug. The response is composed from the current records and cached. A
// response about the past (`asOf`, behaviour/markets.md#history) is composed for the request.
import { type Contract, contract } from '#api/contract/contract.ts'
import { errorFormatOf } from '#api/contract/error-formats.ts'
import type { Parsed } from '#api/contract/kit.ts'
import { type Awaitable, whenReady } from '#core/awaitable.ts'
import { invalid } from '#core/fault.ts'
import { parseTimestamp } from '#core/parse-timestamp.ts'
import { encodingFor } from '#http/accept-encoding.ts'
import { changesResponses } from '#http/aliases.ts'
import { isUnchanged } from '#http/etag.ts'
import type { Handler, HandlerResult, RequestInfo } from '#http/handler.ts'
import type { MarketsContext } from '../context.ts'
import { type FeedCoverage, getFeedCoverage, notFoundOrNotCovered } from '../read/feed-coverage.ts'
import { findMarketResponse, type MarketResponse } from '../read/market-response.ts'
import { isRejected } from '../read/rejected-records.ts'
import { readHistoryHead } from '../read/versions.ts'
import { withoutTags } from '../records/documents.ts'
import type { MarketKey } from '../records/kinds.ts'
import { marketAsOfQuery } from '../threads/market-as-of-query.ts'
import { readHistory } from '../threads/thread-query.ts'

/** A past response does not change, but the operator may shorten the history, so caches must not keep it for ever. */
const pastAgeSeconds = 3600

export const bySlug: Handler<Contract['markets.bySlug'], MarketsContext> = {
  endpoint: contract['markets.bySlug'],
  errorFormat: errorFormatOf(contract['markets.bySlug']),
  handle: (input, context, request) => respondWithMarket(context, request, input.slug, input),
}

export function respondWithMarket(
  context: MarketsContext,
  request: RequestInfo,
  key: MarketKey,
  { include_tag, asOf }: Pick<Parsed<Contract['markets.bySlug']>, 'include_tag' | 'asOf'>,
): Awaitable<HandlerResult<never>> {
  return whenReady(getFeedCoverage(context), (read): Awaitable<HandlerResult<never>> => {
    if (asOf !== undefined) return respondAsOf(context, request, read, key, include_tag, parseAsOf(asOf))
    const isGzip = acceptsGzip(context, request.headers['accept-encoding'])
    return whenReady(findMarketResponse(context, key, include_tag, isGzip), (response) =>
      response ? respondNow(context, request, read, response) : notFoundOrNotCovered(context.ingest, read, key),
    )
  })
}

function respondNow(
  context: MarketsContext,
  request: RequestInfo,
  read: FeedCoverage,
  response: MarketResponse,
): Awaitable<HandlerResult<never>> {
  const { etag, modifiedMs, slug, vanished } = response
  // The response does not contain a rejected version of the market, so it must not be reported as current as the feed.
  const isKept = vanished || (read.incomplete.length > 0 && isRejected(context.ingest, slug, read.incomplete))
  return whenReady<boolean, HandlerResult<never>>(isKept, (kept) => {
    const asOf = kept ? undefined : read.asOf
    if (response.latest?.coverage !== read.coverage || response.latest.asOf !== asOf)
      response.latest = withConfidence(response, read.coverage, asOf)
    const { result } = response.latest
    return isUnchanged(request.headers, etag, modifiedMs) ? { is: 'unchanged', headers: result.headers } : result
  })
}

/** Most requests find the same coverage as the one before, so they get the same result. */
function withConfidence(
  { bytes, headers: prepared }: MarketResponse,
  coverage: string,
  asOf: string | undefined,
): NonNullable<MarketResponse['latest']> {
  const headers = { ...prepared, 'x-tetrad-coverage': coverage, ...(asOf !== undefined && { 'x-tetrad-as-of': asOf }) }
  return { coverage, asOf, result: { is: 'bytes', bytes, headers, rendered: {} } }
}

async function respondAsOf(
  context: MarketsContext,
  request: RequestInfo,
  read: FeedCoverage,
  key: MarketKey,
  tags: boolean,
  asOfMs: number,
): Promise<HandlerResult<never>> {
  const { atMs: settledMs } = await readHistoryHead(context.ingest)
  refuseFuture(asOfMs, context.clock.now(), settledMs)
  const past = await readHistory(context, request.caller, marketAsOfQuery, { key, asOfMs })
  if (!past) return notFoundOrNotCovered(context.ingest, read, key)
  const etag = tags || past.tagsAt < 0 ? past.etag : `${past.etag.slice(0, -1)}-t"`
  // Later versions may still get the time of the newest one, so only earlier times are final.
  const maxAge = asOfMs < settledMs ? pastAgeSeconds : context.settings.markets.maxAgeSeconds
  const headers = { etag, 'cache-control': `public, max-age=${maxAge}` }
  if (isUnchanged(request.headers, etag)) return { is: 'unchanged', headers }
  const bytes = tags ? past.body : withoutTags(past.body, past.tagsAt)
  return { is: 'bytes', bytes, headers, confidence: { asOf: new Date(asOfMs).toISOString() } }
}

/** The newest version may be ahead of a clock that was set back. */
function refuseFuture(asOfMs: number, nowMs: number, newestMs: number): void {
  if (asOfMs <= Math.max(nowMs, newestMs)) return
  throw invalid(['query', 'asOf'], `must not be in the future; the server time is ${new Date(nowMs).toISOString()}`)
}

/** A time without a zone is UTC. */
function parseAsOf(text: string): number {
  const ms = parseTimestamp(text, { zone: 'utc' })
  if (ms === undefined) throw invalid(['query', 'asOf'], 'must be a valid date-time', text)
  return ms
}

/** Stored gzip bodies cannot be used if fields are renamed or hidden. */
const acceptsGzip = ({ settings }: MarketsContext, header: string | undefined): boolean =>
  encodingFor(header, encodings) !== undefined && !changesResponses(settings.aliases)
const encodings = ['gzip'] as const
