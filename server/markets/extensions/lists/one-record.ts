// Endpoints beyond the specification that return one event with its markets, one series with its events, one tag, or the
// own tags of a record (behaviour/markets.md#events-series-and-tags).
import { extensions } from '#api/contract/extensions.ts'
import { invalid } from '#core/fault.ts'
import { createHandler, type HandlerResult, type RequestInfo } from '#http/handler.ts'
import type { StateReader } from '#storage/state.ts'
import type { MarketsContext } from '../../context.ts'
import { currentRecords } from '../../read/current-records.ts'
import { getFeedCoverage, notFoundOrNotCovered, unreadOrNotFound } from '../../read/feed-coverage.ts'
import { composeEvents } from './event-documents.ts'
import { joinRecords, respondWith } from './respond.ts'
import { composeSeries } from './series-documents.ts'
import { readTags } from './tag-records.ts'

export const eventById = createHandler(extensions['markets.eventById'], ({ id }, context: MarketsContext, request) =>
  respondWithRecord(context, request, 'event', (reader) => readEvent(reader, id)),
)

export const eventBySlug = createHandler(
  extensions['markets.eventBySlug'],
  ({ slug }, context: MarketsContext, request) =>
    respondWithRecord(context, request, 'event', async (reader) =>
      readEvent(reader, await findBySlug(reader, 'event', slug)),
    ),
)

export const tagById = createHandler(extensions['markets.tagById'], ({ id }, context: MarketsContext, request) =>
  respondWithRecord(context, request, 'tag', (reader) => readTag(reader, id)),
)

export const tagBySlug = createHandler(extensions['markets.tagBySlug'], ({ slug }, context: MarketsContext, request) =>
  respondWithRecord(context, request, 'tag', async (reader) => readTag(reader, await findBySlug(reader, 'tag', slug))),
)

export const seriesById = createHandler(
  extensions['markets.seriesById'],
  ({ id, exclude_events }, context: MarketsContext, request) =>
    respondWithRecord(context, request, 'series', async (reader) => {
      const texts = await composeSeries(reader, [id], exclude_events)
      if (!texts) throw invalid(['query', 'exclude_events'], 'must be true, because this series has too many events')
      return texts[0] === undefined ? undefined : Buffer.from(texts[0])
    }),
)

export const eventTags = createHandler(extensions['markets.eventTags'], ({ id }, context: MarketsContext, request) =>
  respondWithRecord(context, request, 'event', (reader) => readOwnTags(reader, 'event', id)),
)

export const marketTags = createHandler(
  extensions['markets.marketTags'],
  async ({ id }, context: MarketsContext, request) => {
    const read = await getFeedCoverage(context)
    const tags = await context.ingest.snapshot((reader) => readOwnTags(reader, 'market', id))
    return tags ? respondWith(context, request, read, tags) : notFoundOrNotCovered(context.ingest, read, { id })
  },
)

/** `find` returns undefined if the record is not stored. */
async function respondWithRecord(
  context: MarketsContext,
  request: RequestInfo,
  kind: 'event' | 'series' | 'tag',
  find: (reader: StateReader) => Promise<Uint8Array | undefined>,
): Promise<HandlerResult<never>> {
  const read = await getFeedCoverage(context)
  const bytes = await context.ingest.snapshot(find)
  return bytes ? respondWith(context, request, read, bytes) : unreadOrNotFound(read, kind)
}

async function readEvent(reader: StateReader, id: string | undefined): Promise<Uint8Array | undefined> {
  const [text] = (id !== undefined && (await composeEvents(reader, [id], Number.POSITIVE_INFINITY))) || []
  return text === undefined ? undefined : Buffer.from(text)
}

const readTag = async (reader: StateReader, id: string | undefined): Promise<Uint8Array | undefined> =>
  id === undefined ? undefined : (await readTags(reader, [id]))[0]

async function readOwnTags(reader: StateReader, kind: 'market' | 'event', id: string): Promise<Uint8Array | undefined> {
  const record = await currentRecords(reader).record(kind, id)
  return record && joinRecords(await readTags(reader, record.links.tags ?? []))
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
