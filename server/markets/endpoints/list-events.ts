// `GET /events`, `GET /events/pagination` and `GET /events/keyset`, endpoints beyond the specification: lists of events with their markets
// (behaviour/markets.md#lists).
import { type Extensions, extensions } from '#api/extensions.ts'
import type { Parsed } from '#api/kit.ts'
import { createHandler } from '#http/handler.ts'
import type { StateReader } from '#storage/state.ts'
import type { MarketsContext } from '../context.ts'
import { marketsErrorFormat } from '../error-format.ts'
import { getFeedCoverage } from '../feeds/feed-coverage.ts'
import { composeEvents } from '../lists/event-documents.ts'
import { amountRange, readCursor, toQuery, writeCursor } from '../lists/list-input.ts'
import { countRecords, findPage, type ListQuery } from '../lists/list-query.ts'
import { bytesMax, joinRecords, refuseCut, respondWith, tooLarge, wrapRecords } from '../lists/respond.ts'

/** Markets of all events of a page. */
const marketsMax = 2000

export const events = createHandler(
  extensions['markets.events'],
  marketsErrorFormat,
  async (input, context: MarketsContext, request) => {
    const read = await getFeedCoverage(context)
    const { records } = await readOffsetPage(context, input)
    return respondWith(context, request, read, records)
  },
)

export const eventsPagination = createHandler(
  extensions['markets.eventsPagination'],
  marketsErrorFormat,
  async (input, context: MarketsContext, request) => {
    const read = await getFeedCoverage(context)
    const { query, hasMore, records } = await readOffsetPage(context, input)
    const pagination = { hasMore, totalResults: await countRecords(context.state.recent, query) }
    const end = `,"pagination":${JSON.stringify(pagination)}}`
    return respondWith(context, request, read, Buffer.concat([Buffer.from('{"data":'), records, Buffer.from(end)]))
  },
)

async function readOffsetPage(context: MarketsContext, input: Parsed<Extensions['markets.events']>) {
  const { offset, limit } = input
  const query = await toEventQuery(context.state.recent, input)
  const page = await findPage(context.state.recent, query, { offset, limit })
  refuseCut(page, limit)
  return { query, hasMore: page.next !== undefined, records: await readEvents(context, page.ids) }
}

export const eventsKeyset = createHandler(
  extensions['markets.eventsKeyset'],
  marketsErrorFormat,
  async (input, context: MarketsContext, request) => {
    const { limit, after_cursor } = input
    const read = await getFeedCoverage(context)
    const query = await toEventQuery(context.state.recent, input)
    const after = after_cursor === undefined ? undefined : readCursor(query, after_cursor)
    const { ids, next } = await findPage(context.state.recent, query, { offset: 0, limit, after })
    const records = await readEvents(context, ids)
    return respondWith(context, request, read, wrapRecords('events', records, next && writeCursor(query, next)))
  },
)

type EventFilters = Omit<Parsed<Extensions['markets.events']>, 'limit' | 'offset'>

const toEventQuery = (state: StateReader, input: EventFilters): Promise<ListQuery> =>
  toQuery(state, 'event', input, [
    amountRange('volume', input.volume_min, input.volume_max),
    amountRange('liquidity', input.liquidity_min, input.liquidity_max),
  ])

async function readEvents({ state }: MarketsContext, ids: readonly string[]): Promise<Uint8Array> {
  const texts = await state.snapshot((reader) => composeEvents(reader, ids, marketsMax))
  if (!texts) throw tooLarge()
  const bytes = joinRecords(texts.map((text) => Buffer.from(text)))
  if (bytes.byteLength > bytesMax) throw tooLarge()
  return bytes
}
