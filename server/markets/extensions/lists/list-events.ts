// `GET /events` and `GET /events/keyset`, endpoints beyond the specification: lists of events with their markets
// (behaviour/markets.md#lists).
import { type Extensions, extensions } from '#api/contract/extensions.ts'
import type { Parsed } from '#api/contract/kit.ts'
import type { Fault } from '#core/fault.ts'
import { createHandler } from '#http/handler.ts'
import type { StateReader } from '#storage/state.ts'
import type { MarketsContext } from '../../context.ts'
import { composeEvents } from './event-documents.ts'
import { amountRange, keyFilters, timeRange, toQuery } from './list-input.ts'
import { type RecordList, readCursorPage, readOffsetPage } from './list-pages.ts'
import { bytesMax, joinRecords, respondWith, tooLarge, wrapRecords } from './respond.ts'

/** Markets of all events of a page. */
const marketsMax = 2000

type EventFilters = Omit<Parsed<Extensions['markets.events']>, 'limit' | 'offset'>

const eventList: RecordList<EventFilters> = {
  toQuery: (input) => ({
    ...toQuery('event', input, [
      amountRange('volume', input.volume_min, input.volume_max),
      amountRange('liquidity', input.liquidity_min, input.liquidity_max),
      timeRange('event_start_ms', input, 'start_time_min', 'start_time_max'),
    ]),
    excludedTagIds: input.exclude_tag_id,
    seriesIds: input.series_id,
    seriesRecurrence: input.recurrence,
    keys: keyFilters({
      parent: input.parent_event_id,
      date: input.event_date,
      week: input.event_week,
      cyom: input.cyom,
      live: input.live,
      ended: input.ended,
    }),
  }),
  readRecords: readEvents,
}

export const events = createHandler(extensions['markets.events'], async (input, context: MarketsContext, request) => {
  const { coverage, records } = await readOffsetPage(context, eventList, input)
  return respondWith(context, request, coverage, records)
})

export const eventsKeyset = createHandler(
  extensions['markets.eventsKeyset'],
  async (input, context: MarketsContext, request) => {
    const { coverage, cursor, records } = await readCursorPage(context, eventList, input)
    return respondWith(context, request, coverage, wrapRecords('events', records, cursor))
  },
)

async function readEvents(reader: StateReader, ids: readonly string[]): Promise<Uint8Array | Fault> {
  const texts = await composeEvents(reader, ids, marketsMax)
  if (!texts) return tooLarge()
  const bytes = joinRecords(texts.map((text) => Buffer.from(text)))
  return bytes.byteLength > bytesMax ? tooLarge() : bytes
}
