// Responses of the endpoints for lists, events, series and tags: bytes with an etag and the coverage headers of 4.8
// (behaviour/markets.md#coverage).
import { invalid } from '#core/fault.ts'
import { etagOf, isUnchanged } from '#http/etag.ts'
import type { HandlerResult, RequestInfo } from '#http/handler.ts'
import type { MarketsContext } from '../../context.ts'
import type { FeedCoverage } from '../../read/feed-coverage.ts'
import type { ListPage } from './list-query.ts'

/** Limit of one response. */
export const bytesMax = 32 * 2 ** 20

export function respondWith(
  { settings }: MarketsContext,
  request: RequestInfo,
  read: FeedCoverage,
  bytes: Uint8Array,
): HandlerResult<never> {
  const etag = etagOf(bytes)
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

/** A page with a cursor. */
export function wrapRecords(name: string, records: Uint8Array, cursor: string | undefined): Uint8Array {
  const next = cursor === undefined ? '' : `,"next_cursor":${JSON.stringify(cursor)}`
  return Buffer.concat([Buffer.from(`{"${name}":`), records, Buffer.from(`${next}}`)])
}

/** A short page of a list with an offset would look like the end of the list. */
export function refuseCut({ isCut, ids }: ListPage, limit: number): void {
  if (!isCut || ids.length === limit) return
  throw invalid(['query', 'offset'], 'cannot be reached with these filters; use the keyset list, or fewer filters')
}

export const tooLarge = (name = 'limit') =>
  invalid(['query', name], 'must be lower, because these records are too large together')
