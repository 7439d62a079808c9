// `GET /events/{id}` and `GET /events/slug/{slug}`, endpoints beyond the specification: one event with its markets
// (behaviour/markets.md#events-and-series).
import { extensions } from '#api/extensions.ts'
import { createHandler, type HandlerResult, type RequestInfo } from '#http/handler.ts'
import type { StateReader } from '#storage/state.ts'
import type { MarketsContext } from '../context.ts'
import { marketByIdErrorFormat, marketsErrorFormat } from '../error-format.ts'
import { getFeedCoverage, unreadOrNotFound } from '../feeds/feed-coverage.ts'
import { composeEvents } from '../lists/event-documents.ts'
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
    respondWithEvent(context, request, (reader) => findEventId(reader, slug)),
)

/** Of several events with this slug, the newest. */
async function findEventId(reader: StateReader, slug: string): Promise<string | undefined> {
  const row = await reader.get<{ id: string }>(
    `select l.id from market_records r join market_list l on l.kind = r.kind and l.id = r.id
     where r.kind = 'event' and r.slug = ? order by l.number desc, l.id desc limit 1`,
    slug,
  )
  return row?.id
}

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
