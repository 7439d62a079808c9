// `GET /events/{id}` and `GET /events/slug/{slug}`, endpoints beyond the specification: one event with its markets
// (behaviour/markets.md#events-series-and-tags).
import { extensions } from '#api/extensions.ts'
import { createHandler, type HandlerResult, type RequestInfo } from '#http/handler.ts'
import type { StateReader } from '#storage/state.ts'
import type { MarketsContext } from '../context.ts'
import { marketByIdErrorFormat, marketsErrorFormat } from '../error-format.ts'
import { getFeedCoverage, unreadOrNotFound } from '../feeds/feed-coverage.ts'
import { composeEvents } from '../lists/event-documents.ts'
import { findBySlug } from '../lists/find-by-slug.ts'
import { respondWith } from '../lists/respond.ts'

export const eventById = createHandler(
  extensions['markets.eventById'],
  marketByIdErrorFormat,
  ({ id }, context: MarketsContext, request) => respondWithEvent(context, request, async () => id),
)

export const eventBySlug = createHandler(
  extensions['markets.eventBySlug'],
  marketsErrorFormat,
  ({ slug }, context: MarketsContext, request) =>
    respondWithEvent(context, request, (reader) => findBySlug(reader, 'event', slug)),
)

async function respondWithEvent(
  context: MarketsContext,
  request: RequestInfo,
  findId: (reader: StateReader) => Promise<string | undefined>,
): Promise<HandlerResult<never>> {
  const read = await getFeedCoverage(context)
  const [text] = await context.state.snapshot(async (reader) => {
    const id = await findId(reader)
    return (id !== undefined && (await composeEvents(reader, [id], Number.POSITIVE_INFINITY))) || []
  })
  return text === undefined ? unreadOrNotFound(read, 'event') : respondWith(context, request, read, Buffer.from(text))
}
