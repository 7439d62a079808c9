// Spec 4.8. The answer was written when its records came in; here it is found and handed over. Only a question about the
// past (`asOf`, behaviour/markets.md#history) has to be put together.
import { contract } from '#api/contract.ts'
import { invalid } from '#core/fault.ts'
import { parseTimestamp } from '#core/parse-timestamp.ts'
import { encodingFor } from '#http/accept-encoding.ts'
import { isUnchanged } from '#http/etag.ts'
import { createHandler, type HandlerResult, type RequestInfo } from '#http/handler.ts'
import type { MarketsContext } from '../context.ts'
import { marketsErrorFormat } from '../error-format.ts'
import { type FeedCoverage, getFeedCoverage, notFoundOrNotCovered } from '../feeds/coverage.ts'
import { marketAsOf } from '../history/market-as-of.ts'
import { readLogHead } from '../history/versions.ts'
import { withoutTags } from '../records/documents.ts'
import { findMarketResponse } from '../records/market-response.ts'
import { isRejected } from '../records/rejects.ts'

/** A past answer stays what it is; how long it is kept here is the operator's choice, so not for ever. */
const pastAgeSeconds = 3600

export const bySlug = createHandler(
  contract['markets.bySlug'],
  marketsErrorFormat,
  async ({ slug, include_tag, asOf }, context: MarketsContext, request) => {
    const read = await getFeedCoverage(context)
    if (asOf !== undefined) return respondAsOf(context, request, read, slug, include_tag, parseAsOf(asOf))
    const response = await findMarketResponse(
      context,
      slug,
      include_tag,
      acceptsGzip(context, request.headers['accept-encoding']),
    )
    if (!response) return notFoundOrNotCovered(context.state, read, slug)
    const { bytes, etag, modifiedMs } = response
    const headers: Record<string, string> = { ...response.headers, 'x-tetrad-coverage': read.coverage }
    // What the feed shows of a rejected market is not in the answer, so the answer keeps the time of its own last change.
    const isKept = response.vanished || (await isRejected(context.state, response.slug, read.incomplete))
    if (read.asOf !== undefined && !isKept) headers['x-tetrad-as-of'] = read.asOf
    if (isUnchanged(request.headers, etag, modifiedMs)) return { is: 'unchanged', headers }
    return { is: 'bytes', bytes, headers }
  },
)

async function respondAsOf(
  context: MarketsContext,
  request: RequestInfo,
  read: FeedCoverage,
  slug: string,
  tags: boolean,
  asOfMs: number,
): Promise<HandlerResult<never>> {
  const { atMs: settledMs } = await readLogHead(context.state)
  refuseFuture(asOfMs, context.clock.now(), settledMs)
  const past = await marketAsOf(context.state, slug, asOfMs)
  if (!past) return notFoundOrNotCovered(context.state, read, slug)
  const etag = tags || past.tagsAt < 0 ? past.etag : `${past.etag.slice(0, -1)}-t"`
  // A page that is being written is stamped with a time before its end: only what is older than the newest entry stays as it is.
  const maxAge = asOfMs < settledMs ? pastAgeSeconds : context.settings.markets.maxAgeSeconds
  const headers = { etag, 'cache-control': `public, max-age=${maxAge}` }
  if (isUnchanged(request.headers, etag)) return { is: 'unchanged', headers }
  const bytes = tags ? past.body : withoutTags(past.body, past.tagsAt)
  return { is: 'bytes', bytes, headers, confidence: { asOf: new Date(asOfMs).toISOString() } }
}

/** What will be is not known yet. The log may be ahead of a clock that was set back. */
function refuseFuture(asOfMs: number, nowMs: number, newestMs: number): void {
  if (asOfMs <= Math.max(nowMs, newestMs)) return
  throw invalid(['query', 'asOf'], `must not be in the future; here it is ${new Date(nowMs).toISOString()}`)
}

/** A time without a zone is UTC. */
function parseAsOf(text: string): number {
  const ms = parseTimestamp(text, { zone: 'utc' })
  if (ms === undefined) throw invalid(['query', 'asOf'], 'must be a valid date-time', text)
  return ms
}

/** Where fields are renamed on the way out, the bytes must stay text. */
function acceptsGzip(context: MarketsContext, header: string | undefined): boolean {
  for (const _ in context.settings.aliases.responseFields) return false
  return encodingFor(header, encodings) !== undefined
}
const encodings = ['gzip'] as const
