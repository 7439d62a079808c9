// `GET /tags/{id}` and `GET /tags/slug/{slug}`, endpoints beyond the specification: one tag
// (behaviour/markets.md#events-series-and-tags).
import { extensions } from '#api/extensions.ts'
import { createHandler, type HandlerResult, type RequestInfo } from '#http/handler.ts'
import type { StateReader } from '#storage/state.ts'
import type { MarketsContext } from '../context.ts'
import { marketByIdErrorFormat, marketsErrorFormat } from '../error-format.ts'
import { getFeedCoverage, unreadOrNotFound } from '../feeds/feed-coverage.ts'
import { findBySlug } from '../lists/find-by-slug.ts'
import { respondWith } from '../lists/respond.ts'
import { readTags } from '../lists/tag-records.ts'

export const tagById = createHandler(
  extensions['markets.tagById'],
  marketByIdErrorFormat,
  ({ id }, context: MarketsContext, request) => respondWithTag(context, request, async () => id),
)

export const tagBySlug = createHandler(
  extensions['markets.tagBySlug'],
  marketsErrorFormat,
  ({ slug }, context: MarketsContext, request) =>
    respondWithTag(context, request, (reader) => findBySlug(reader, 'tag', slug)),
)

async function respondWithTag(
  context: MarketsContext,
  request: RequestInfo,
  findId: (reader: StateReader) => Promise<string | undefined>,
): Promise<HandlerResult<never>> {
  const read = await getFeedCoverage(context)
  const id = await findId(context.state)
  const [tag] = id === undefined ? [] : await readTags(context.state, [id])
  return tag ? respondWith(context, request, read, tag) : unreadOrNotFound(read, 'tag')
}
