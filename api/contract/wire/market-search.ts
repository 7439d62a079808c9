// Endpoints of group D beyond the specification: search for markets by words (behaviour/markets.md#search).
import {
  boolean,
  DateTime,
  endpoint,
  Flag,
  integer,
  many,
  Num,
  oneOf,
  otherSpelling,
  record,
  type Static,
  Text,
  Type,
} from '../kit.ts'
import { EventWithMarkets, eventById, exclude_tag_id, recurrence, tagById } from './market-lists.ts'
import { slug, Tag } from './markets.ts'

/** A summary; `markets.bySlug` returns the complete market. */
export const FoundMarket = Type.Object({
  id: { ...Text, description: 'Id in the feed.' },
  slug: { ...Text, description: 'Current slug.' },
  question: Type.Optional({ ...Text, description: 'The question of the market.' }),
  open: Type.Boolean({ description: 'Active, not closed and not archived.' }),
  endDate: Type.Optional({ ...DateTime, description: 'When trading is planned to end.' }),
  volumeNum: Type.Optional({ ...Num, description: 'Total volume.' }),
  denominationToken: Type.Optional(Type.String({ description: 'Token of prices and volumes.' })),
  lastTradePrice: Type.Optional({ ...Num, description: 'Price of the last trade.' }),
  outcomes: Type.Optional(Type.String({ description: 'JSON in a string, as the source wrote it.' })),
  outcomePrices: Type.Optional(Type.String({ description: 'JSON in a string, as the source wrote it.' })),
})
export type FoundMarket = Static<typeof FoundMarket>

const searchWords = (description: string) => Type.Optional(Type.String({ maxLength: 200, description }))

export const search = endpoint('markets.search', {
  summary: 'Search markets by words in their question, slug or tags.',
  notes:
    'Open markets come first, then those with the highest volume. Every search word must match the start of a word of the market; case and accents are ignored. Without `q`: the open markets with the highest volume.',
  input: Type.Object({
    q: searchWords('Search words; only the first eight are used.'),
    limit: integer(20, 1, 500, 'Maximum number of markets.'),
  }),
  reply: Type.Object({ markets: Type.Array(FoundMarket, { description: 'Best matches first.' }) }),
  faults: ['markets.lists_busy'],
  example: {
    input: { q: 'harbour bridge', limit: 1 },
    reply: {
      markets: [
        {
          id: '501',
          slug: 'will-the-harbour-bridge-open-on-time',
          question: 'Will the harbour bridge open on time?',
          open: true,
          endDate: '2026-12-14T00:00:00Z',
          volumeNum: 889744.51,
          lastTradePrice: 0.73,
          outcomes: '["Yes","No"]',
          outcomePrices: '["0.73","0.27"]',
        },
      ],
    },
  },
})

/** Fields by which found events can be ordered. Without one, the best matches come first. */
export const searchOrders = ['volume', 'volume_24hr', 'liquidity', 'start_date', 'end_date', 'closed_time'] as const

export const publicSearch = endpoint('markets.publicSearch', {
  summary: 'Search events and tags by words in the questions, slugs and tags of markets.',
  notes:
    'Finds the events of the markets that `markets.search` finds, in the same order, and those of their tags that contain the search words.',
  input: Type.Object({
    q: searchWords('Search words; only the first eight are used.'),
    query: otherSpelling(Type.String({ maxLength: 200 }), 'q'),
    limit_per_type: integer(10, 1, 500, 'Events per page, and maximum number of tags.'),
    page: integer(1, 1, 500, 'Page of events; the first is 1.'),
    sort: Type.Optional(
      oneOf(searchOrders, { description: 'Order the found events by this field. Default: best matches first.' }),
    ),
    ascending: boolean(false, '`true` reverses the order of `sort`.'),
    events_status: Type.Optional(
      oneOf(['active', 'closed', 'resolved'], {
        description: 'Only events that are open, or closed; `resolved` is another name of `closed`.',
      }),
    ),
    events_tag: Type.Optional(
      many(slug, { maxItems: 20, description: 'Only events with a tag of one of these slugs.' }),
    ),
    exclude_tag_id,
    recurrence,
    search_tags: boolean(true, '`false`: no tags.'),
  }),
  reply: Type.Object({
    events: Type.Array(EventWithMarkets, { description: 'Events of the best matching markets, best first.' }),
    tags: Type.Array(Tag, { description: 'Tags whose labels match.' }),
    pagination: record('How many events there are.', {
      hasMore: { ...Flag, description: 'There are further pages of events.' },
      totalResults: Type.Integer({ description: 'Events of the 500 best matching markets.' }),
    }),
  }),
  etag: true,
  faults: ['markets.lists_busy'],
  example: {
    input: { q: 'harbour bridge', limit_per_type: 1 },
    reply: {
      events: [eventById.example.reply],
      tags: [tagById.example.reply],
      pagination: { hasMore: false, totalResults: 1 },
    },
  },
})
