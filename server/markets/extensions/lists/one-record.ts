// Endpoints beyond the specification that return one event with its markets, one series with its events, one tag, or the
// own tags of a record (behaviour/markets.md#events-series-and-tags).
import { extensions } from '#api/contract/extensions.ts'
import { invalid } from '#core/fault.ts'
import { createHandler, type HandlerResult, type RequestInfo } from '#http/handler.ts'
import type { StateReader } from '#storage/state.ts'
import type { MarketsContext } from '../../context.ts'
import { currentRecords } from '../../read/current-records.ts'
import { getFeedCoverage, notFoundOrNotCovered, unreadOrNotFound } from '../../read/feed-coverage.ts'
import { composeEvent, type PageBytes } from './compose-page.ts'
import { joinRecords, respondWith, withEtag } from './respond.ts'
import { composeSeries } from './series-documents.ts'
import { readTags } from './tag-records.ts'

export const eventById = createHandler(extensions['markets.eventById'], ({ id }, context: MarketsContext, request) =>
  respondWithRecord(context, request, 'event', () => composeEvent(context, request, id)),
)

export const eventBySlug = createHandler(
  extensions['markets.eventBySlug'],
  ({ slug }, context: MarketsContext, request) =>
    respondWithRecord(context, request, 'event', async () => {
      const id = await findBySlug(context.ingest, 'event', slug)
      return id === undefined ? undefined : composeEvent(context, request, id)
    }),
)

export const tagById = createHandler(extensions['markets.tagById'], ({ id }, context: MarketsContext, request) =>
  respondWithRecord(context, request, 'tag', () => readTag(context.ingest, id)),
)

export const tagBySlug = createHandler(extensions['markets.tagBySlug'], ({ slug }, context: MarketsContext, request) =>
  respondWithRecord(context, request, 'tag', async () =>
    readTag(context.ingest, await findBySlug(context.ingest, 'tag', slug)),
  ),
)

export const seriesById = createHandler(
  extensions['markets.seriesById'],
  ({ id, exclude_events }, context: MarketsContext, request) =>
    respondWithRecord(context, request, 'series', async () => {
      const composed = await context.ingest.snapshot((reader) => composeSeries(reader, [id], exclude_events, eventsMax))
      if (!composed) throw invalid(['query', 'exclude_events'], 'must be true, because this series has too many events')
      const [text] = composed.texts
      return text === undefined ? undefined : withEtag(Buffer.from(text))
    }),
)

export const eventTags = createHandler(extensions['markets.eventTags'], ({ id }, context: MarketsContext, request) =>
  respondWithRecord(context, request, 'event', () =>
    context.ingest.snapshot((reader) => readOwnTags(reader, 'event', id)),
  ),
)

export const marketTags = createHandler(
  extensions['markets.marketTags'],
  async ({ id }, context: MarketsContext, request) => {
    const read = await getFeedCoverage(context)
    const tags = await context.ingest.snapshot((reader) => readOwnTags(reader, 'market', id))
    return tags ? respondWith(context, request, read, tags) : notFoundOrNotCovered(context.ingest, read, { id })
  },
)

/** Of one series. */
const eventsMax = 2000

/** `find` returns undefined if the record is not stored. */
async function respondWithRecord(
  context: MarketsContext,
  request: RequestInfo,
  kind: 'event' | 'series' | 'tag',
  find: () => Promise<PageBytes | undefined>,
): Promise<HandlerResult<never>> {
  const read = await getFeedCoverage(context)
  const found = await find()
  return found ? respondWith(context, request, read, found) : unreadOrNotFound(read, kind)
}

const readTag = async (reader: StateReader, id: string | undefined): Promise<PageBytes | undefined> => {
  const [tag] = id === undefined ? [] : await readTags(reader, [id])
  return tag && withEtag(tag)
}

async function readOwnTags(reader: StateReader, kind: 'market' | 'event', id: string): Promise<PageBytes | undefined> {
  const record = await currentRecords(reader).record(kind, id)
  return record && withEtag(joinRecords(await readTags(reader, record.links.tags ?? [])))
}

/** The record that has this slug now. Of several, the newest. */
async function findBySlug(reader: StateReader, kind: 'event' | 'tag', slug: string): Promise<string | undefined> {
  const row = await reader.get<{ id: string }>(
    `select l.id from market_records r join market_list l on l.kind = r.kind and l.id = r.id
     where r.kind = ? and r.slug = ? order by l.number desc, l.id desc limit 1`,
    ...[kind, slug],
  )
  return row?.id
}
