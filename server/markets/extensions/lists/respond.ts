// Responses of the endpoints for lists, events, series and tags: bytes with an etag and the coverage headers of 4.8
// (behaviour/markets.md#coverage).
import { invalid } from '#core/fault.ts'
import { etagOf, isUnchanged } from '#http/etag.ts'
import type { HandlerResult, RequestInfo } from '#http/handler.ts'
import type { MarketsContext } from '../../context.ts'
import type { FeedCoverage } from '../../read/feed-coverage.ts'
import type { PageBytes } from './compose-page.ts'
import type { ListPage } from './list-query.ts'

export function respondWith(
  { settings }: MarketsContext,
  request: RequestInfo,
  read: FeedCoverage,
  { bytes, etag }: PageBytes,
): HandlerResult<never> {
  const headers = {
    etag,
    'cache-control': `public, max-age=${settings.markets.maxAgeSeconds}`,
    'x-tetrad-coverage': read.coverage,
    ...(read.asOf !== undefined && { 'x-tetrad-as-of': read.asOf }),
  }
  return isUnchanged(request.headers, etag) ? { is: 'unchanged', headers } : { is: 'bytes', bytes, headers }
}

/** Records as a JSON list. */
export function joinRecords(records: readonly Uint8Array[]): Uint8Array {
  const parts: Uint8Array[] = [opening]
  for (const record of records) parts.push(...(parts.length > 1 ? [comma] : []), record)
  return Buffer.concat([...parts, closing])
}
const [opening, comma, closing] = [Buffer.from('['), Buffer.from(','), Buffer.from(']')]

/** Bytes that were composed on the current thread. */
export const withEtag = (bytes: Uint8Array): PageBytes => ({ bytes, etag: etagOf(bytes) })

/** A short page of a list with an offset would look like the end of the list. */
export function refuseCut({ isCut, ids }: ListPage, limit: number): void {
  if (!isCut || ids.length === limit) return
  throw invalid(['query', 'offset'], 'cannot be reached with these filters; use the keyset list, or fewer filters')
}

export const tooLarge = (name = 'limit') =>
  invalid(['query', name], 'must be lower, because these records are too large together')
