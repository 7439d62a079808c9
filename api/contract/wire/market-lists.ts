// Endpoints of group D beyond the specification: lists of markets, events, series and tags, and lookups of one of them
// (behaviour/markets.md#lists).
import { boolean, choice, endpoint, integer, many, PatternText, type Static, Type, withOtherSpellings } from '../kit.ts'
import { bySlug, EventOfSeries, Market, Series, slug, Tag } from './markets.ts'

const { events: _events, ...marketMembers } = Market.properties

/** A market inside its event, which is therefore left out. */
export const MarketOfEvent = Type.Object(marketMembers)

/** An event with its complete markets, which come last. */
export const EventWithMarkets = Type.Object({
  ...EventOfSeries.properties,
  markets: Type.Optional(Type.Array(MarketOfEvent, { description: 'The complete markets of the event.' })),
})
export type EventWithMarkets = Static<typeof EventWithMarkets>

/** Names with underscores and with `Num` are other spellings. */
const otherOrders = [
  'volumeNum',
  'volume_num',
  'volume_24hr',
  'liquidityNum',
  'liquidity_num',
  'start_date',
  'end_date',
  'created_at',
  'updated_at',
  'closed_time',
] as const

/** Names by which lists can be ordered. */
export const listOrders = [
  'id',
  'volume',
  'volume24hr',
  'liquidity',
  'startDate',
  'endDate',
  'createdAt',
  'updatedAt',
  'closedTime',
  ...otherOrders,
] as const
export type ListOrder = (typeof listOrders)[number]

/** Page sizes up to this one are what clients of the original interface send by default. */
const limit = integer(20, 1, 500, 'Records per page.')
const offset = integer(0, 0, 100_000, 'Records to skip. For longer lists, use a cursor.')
const afterCursor = Type.Optional(
  PatternText('^[A-Za-z0-9_-]{1,1000}$', 'be a next_cursor of this list', {
    description: '`next_cursor` of the page before; default: the first page.',
  }),
)
const nextCursor = Type.Optional(
  Type.String({ description: '`after_cursor` of the next page; absent on the last one.' }),
)
const flag = (description: string) => Type.Optional(Type.Boolean({ description }))
const named = (description: string) => Type.Optional(many(slug, { maxItems: 100, description }))
const oneValue = (description: string) => Type.Optional(Type.String({ minLength: 1, maxLength: 256, description }))
const time = (description: string) =>
  Type.Optional(
    PatternText('^\\d{4}-\\d\\d-\\d\\d', 'be a date such as 2026-11-14, or a time such as 2026-11-14T09:00:00Z', {
      description,
    }),
  )
const amount = (description: string) =>
  Type.Optional(
    PatternText('^-?\\d{1,12}(\\.\\d{1,18})?$', 'be a decimal number of at most 12 digits', { description }),
  )

const sorting = {
  order: withOtherSpellings(choice(listOrders, 'id', 'Field to order by.'), otherOrders),
  ascending: boolean(true, '`false` reverses the order.'),
}

const filters = {
  id: named('Only the records with these ids.'),
  slug: named('Only the records with these current slugs.'),
  active: flag('Only records that are active, or not.'),
  closed: flag('Only records that are closed, or not. Default: `false`, or both if the request names records.'),
  archived: flag('Only records that are archived, or not.'),
  featured: flag('Only records that are featured, or not.'),
  tag_id: Type.Optional(many(slug, { maxItems: 20, description: 'Only records with one of the tags of these ids.' })),
  tag_match: choice(['any', 'all'], 'any', '`all`: only records with all tags of `tag_id`.'),
  tag_slug: Type.Optional({ ...slug, description: 'Only records with a tag of this slug.' }),
  start_date_min: time('Earliest `startDate`.'),
  start_date_max: time('Latest `startDate`.'),
  end_date_min: time('Earliest `endDate`.'),
  end_date_max: time('Latest `endDate`.'),
}

const marketFilters = {
  ...filters,
  condition_ids: named('Only the markets with these condition ids.'),
  clob_token_ids: named('Only the markets with these tokens.'),
  question_ids: named('Only the markets with these `questionID`s.'),
  market_maker_address: named('Only the markets with these market makers.'),
  game_id: named('Only the markets of these games.'),
  sports_market_types: Type.Optional(
    many(Type.String({ minLength: 1, maxLength: 256 }), {
      maxItems: 100,
      description: 'Only markets with one of these values of `sportsMarketType`.',
    }),
  ),
  oracle_resolution_status: oneValue('Only markets with this `oracleResolutionStatus`.'),
  rfq_enabled: flag('Only markets that accept requests for quotes, or not.'),
  volume_num_min: amount('Lowest volume.'),
  volume_num_max: amount('Highest volume.'),
  liquidity_num_min: amount('Lowest liquidity.'),
  liquidity_num_max: amount('Highest liquidity.'),
  include_tag: boolean(true, '`false` omits the tags.'),
}

export const recurrence = oneValue('Only of series with this `recurrence`, such as `weekly`.')
export const exclude_tag_id = named('Only records without the tags of these ids.')

const eventFilters = {
  ...filters,
  exclude_tag_id,
  series_id: named('Only the events of these series.'),
  recurrence,
  parent_event_id: oneValue('Only events with this `parentEvent`.'),
  event_date: oneValue('Only events with this `eventDate`.'),
  event_week: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 9999, description: 'Only events with this `eventWeek`.' }),
  ),
  cyom: flag('Only events that a user created, or not.'),
  live: flag('Only events that are live, or not.'),
  ended: flag('Only events that have ended, or not.'),
  start_time_min: time('Earliest `startTime`.'),
  start_time_max: time('Latest `startTime`.'),
  volume_min: amount('Lowest volume.'),
  volume_max: amount('Highest volume.'),
  liquidity_min: amount('Lowest liquidity.'),
  liquidity_max: amount('Highest liquidity.'),
}

const offsetNotes =
  'This is how clients of the original interface read pages. To read a long list completely, use the list with a cursor.'
const cursorNotes =
  'This is how to read a list completely: the client does it with `records`. Without `next_cursor`, the list is complete. A page can have fewer records than `limit` and still be followed by others.'
/** What all lookups of one record share. */
const lookup = { etag: true, faults: ['record.not_found', 'markets.not_covered'] } as const

export const list = endpoint('markets.list', {
  summary: 'Markets by filter and order, with an offset.',
  notes: `Each market is the document of \`markets.bySlug\`. Lists that name no records contain open markets unless you set \`closed\`. ${offsetNotes}`,
  input: Type.Object({ limit, offset, ...sorting, ...marketFilters }),
  reply: Type.Array(Market),
  etag: true,
  faults: ['markets.not_covered', 'markets.lists_busy'],
  example: { input: { id: ['501'] }, reply: [bySlug.example.reply] },
})

export const listKeyset = endpoint('markets.listKeyset', {
  summary: 'Markets by filter and order, with a cursor.',
  notes: `The same list as \`markets.list\`, of any length. ${cursorNotes}`,
  input: Type.Object({ limit, after_cursor: afterCursor, ...sorting, ...marketFilters }),
  reply: Type.Object({
    markets: Type.Array(Market, { description: 'In the requested order.' }),
    next_cursor: nextCursor,
  }),
  etag: true,
  faults: list.faults,
  example: { input: { id: ['501'] }, reply: { markets: [bySlug.example.reply] } },
})

const event: EventWithMarkets = {
  id: '101',
  slug: 'harbour-bridge-opening',
  title: 'Harbour bridge opening',
  active: true,
  closed: false,
  markets: [{ id: '501', slug: 'will-the-harbour-bridge-open-on-time' }],
}

export const events = endpoint('markets.events', {
  summary: 'Events by filter and order, with an offset.',
  notes: `Each event contains its complete markets. Lists that name no records contain open events unless you set \`closed\`. ${offsetNotes}`,
  input: Type.Object({ limit, offset, ...sorting, ...eventFilters }),
  reply: Type.Array(EventWithMarkets),
  etag: true,
  faults: ['markets.lists_busy'],
  example: { input: { limit: 1 }, reply: [event] },
})

export const eventsKeyset = endpoint('markets.eventsKeyset', {
  summary: 'Events by filter and order, with a cursor.',
  notes: `The same list as \`markets.events\`, of any length. ${cursorNotes}`,
  input: Type.Object({ limit, after_cursor: afterCursor, ...sorting, ...eventFilters }),
  reply: Type.Object({
    events: Type.Array(EventWithMarkets, { description: 'In the requested order.' }),
    next_cursor: nextCursor,
  }),
  etag: true,
  faults: ['markets.lists_busy'],
  example: { input: { limit: 1 }, reply: { events: [event] } },
})

export const eventById = endpoint('markets.eventById', {
  summary: 'One event by its id, with its complete markets.',
  notes: 'While a feed is read for the first time, an event that is not found is a 503 and not a 404.',
  input: Type.Object({ id: slug }),
  reply: EventWithMarkets,
  ...lookup,
  faults: [...lookup.faults, 'markets.lists_busy'],
  example: { input: { id: '101' }, reply: event },
})

export const eventBySlug = endpoint('markets.eventBySlug', {
  summary: 'One event by its current slug, with its complete markets.',
  notes: 'The same document as `markets.eventById`. Events are not found by past slugs.',
  input: Type.Object({ slug }),
  reply: EventWithMarkets,
  ...lookup,
  faults: [...lookup.faults, 'markets.lists_busy'],
  example: { input: { slug: 'harbour-bridge-opening' }, reply: event },
})

const tag: Tag = { id: '1', label: 'Infrastructure', slug: 'infrastructure' }

export const tags = endpoint('markets.tags', {
  summary: 'Tags, with an offset.',
  notes: 'All tags that markets, events and series have or had.',
  input: Type.Object({
    limit,
    offset,
    order: withOtherSpellings(
      choice(['id', 'createdAt', 'created_at', 'updatedAt', 'updated_at'], 'id', 'Field to order by.'),
      otherOrders,
    ),
    ascending: sorting.ascending,
    is_carousel: flag('Only tags with this `isCarousel`.'),
  }),
  reply: Type.Array(Tag),
  etag: true,
  faults: [],
  example: { input: { limit: 1 }, reply: [tag] },
})

export const tagById = endpoint('markets.tagById', {
  summary: 'One tag by its id.',
  notes: 'While a feed is read for the first time, a tag that is not found is a 503 and not a 404.',
  input: Type.Object({ id: slug }),
  reply: Tag,
  ...lookup,
  example: { input: { id: '1' }, reply: tag },
})

export const tagBySlug = endpoint('markets.tagBySlug', {
  summary: 'One tag by its slug.',
  notes: 'The same record as `markets.tagById`.',
  input: Type.Object({ slug }),
  reply: Tag,
  ...lookup,
  example: { input: { slug: 'infrastructure' }, reply: tag },
})

export const marketTags = endpoint('markets.marketTags', {
  summary: 'The tags of a market.',
  notes: 'The market’s own `tags`. Those of its events are not included.',
  input: Type.Object({ id: slug }),
  reply: Type.Array(Tag),
  ...lookup,
  example: { input: { id: '501' }, reply: [tag] },
})

export const eventTags = endpoint('markets.eventTags', {
  summary: 'The tags of an event.',
  notes: 'The event’s own `tags`. Those of its markets are not included.',
  input: Type.Object({ id: slug }),
  reply: Type.Array(Tag),
  ...lookup,
  example: { input: { id: '101' }, reply: [tag] },
})

const exclude_events = boolean(false, '`true` omits the events.')
const oneSeries: Series = { id: '1', slug: 'northern-harbours', title: 'Northern Harbours', recurrence: 'monthly' }

export const series = endpoint('markets.series', {
  summary: 'Series by filter and order, with an offset.',
  notes:
    'Each series is the record of `markets.seriesById`. Lists that name no records contain open series unless you set `closed`.',
  input: Type.Object({
    limit,
    offset,
    ...sorting,
    slug: filters.slug,
    closed: filters.closed,
    recurrence,
    exclude_events,
  }),
  reply: Type.Array(Series),
  etag: true,
  faults: ['markets.lists_busy'],
  example: { input: { limit: 1 }, reply: [oneSeries] },
})

export const seriesById = endpoint('markets.seriesById', {
  summary: 'One series by its id, with its events.',
  notes: 'While a feed is read for the first time, a series that is not found is a 503 and not a 404.',
  input: Type.Object({ id: slug, exclude_events }),
  reply: Series,
  ...lookup,
  example: { input: { id: '1' }, reply: oneSeries },
})
