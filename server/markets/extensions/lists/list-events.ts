// `GET /events` and `GET /events/keyset`, endpoints beyond the specification: lists of events with their markets
// (behaviour/markets.md#lists).
import { type Extensions, extensions } from '#api/contract/extensions.ts'
import type { Parsed } from '#api/contract/kit.ts'
import { createHandler } from '#http/handler.ts'
import type { MarketsContext } from '../../context.ts'
import { amountRange, keyFilters, timeRange, toQuery } from './list-input.ts'
import { type RecordList, respondWithCursorPage, respondWithOffsetPage } from './list-pages.ts'

type EventFilters = Omit<Parsed<Extensions['markets.events']>, 'limit' | 'offset'>

const eventList: RecordList<EventFilters> = {
  kind: 'event',
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
}

export const events = createHandler(extensions['markets.events'], (input, context: MarketsContext, request) =>
  respondWithOffsetPage(context, request, eventList, input),
)

export const eventsKeyset = createHandler(
  extensions['markets.eventsKeyset'],
  (input, context: MarketsContext, request) => respondWithCursorPage(context, request, eventList, 'events', input),
)
