// Endpoints of group D beyond the specification: changes of market records, by field (behaviour/markets.md#history).
import {
  boolean,
  DateTime,
  endpoint,
  integer,
  many,
  nullable,
  oneOf,
  PatternText,
  type Static,
  Text,
  Type,
} from '../kit.ts'
import { slug } from './markets.ts'

/** Kinds of records with a change history. */
export const changeKinds = [
  'market',
  'event',
  'series',
  'collection',
  'category',
  'tag',
  'chat',
  'creator',
  'template',
  'image',
] as const

export const FieldChange = Type.Object({
  field: { ...Text, description: 'Name of the field.' },
  before: Type.Optional(
    Type.Unknown({ description: 'Old value; absent if there was none. Linked records are given as ids.' }),
  ),
  after: Type.Optional(Type.Unknown({ description: 'New value; absent if the value was removed.' })),
})

export const MarketChange = Type.Object({
  cursor: Type.String({ description: 'Position in the order of all changes.' }),
  at: { ...DateTime, description: 'When this server received the change.' },
  kind: oneOf(changeKinds, { description: 'Kind of the record.' }),
  id: { ...Text, description: 'Id of the record in the feed.' },
  slug: Type.Optional(Type.String({ description: 'Current slug of the record, if it has one.' })),
  change: oneOf(['created', 'changed', 'vanished', 'returned'], {
    description: '`vanished`: no feed lists the record any more. `returned`: a feed lists it again.',
  }),
  fields: Type.Array(FieldChange, { description: 'What changed.' }),
})
export type MarketChange = Static<typeof MarketChange>

const cursor = (description: string) =>
  Type.Optional(PatternText('^\\d{1,15}$', 'be a number of at most 15 digits', { description }))
const limit = integer(100, 1, 1000, 'Changes per page.')
const kinds = Type.Optional(
  many(oneOf(changeKinds), { maxItems: 10, description: 'Only records of these kinds; default: all.' }),
)
const slugs = Type.Optional(
  many(slug, { maxItems: 200, description: 'Only these markets, by current or past slug. Implies the kind `market`.' }),
)

const change: MarketChange = {
  cursor: '228',
  at: '2026-11-15T11:59:30.000Z',
  kind: 'market',
  id: '501',
  slug: 'will-the-harbour-bridge-open-on-time',
  change: 'changed',
  fields: [{ field: 'bestBid', before: 0.6, after: 0.61 }],
}

export const changesBySlug = endpoint('markets.changesBySlug', {
  summary: 'Changes of one market by field, newest first.',
  notes: 'Pages go back in time: `next` is the `cursor` of the next page, null at the end of the stored history.',
  input: Type.Object({
    slug,
    cursor: cursor('Start of the page; default: the newest change.'),
    limit,
    fields: Type.Optional(
      many(Text, {
        maxItems: 50,
        description: 'Only changes of these fields; unknown names are an error.',
      }),
    ),
    related: boolean(false, 'Include changes of the records that the market contains.'),
  }),
  reply: Type.Object({
    changes: Type.Array(MarketChange, { description: 'Newest first.' }),
    next: { ...nullable(Text), description: '`cursor` of the next page; null on the last page.' },
  }),
  faults: ['record.not_found', 'markets.not_covered', 'markets.too_many_changes', 'markets.history_busy'],
  example: {
    input: { slug: 'will-the-harbour-bridge-open-on-time', limit: 1 },
    reply: { changes: [change], next: '21' },
  },
})

export const changes = endpoint('markets.changes', {
  summary: 'Changes of all or selected market records, oldest first.',
  notes:
    'To continue, set `after` to `next`. `more` is true if further changes are available now. A cursor that has been deleted, or is after the newest change, gets 410.',
  input: Type.Object({
    after: cursor('Return changes after this cursor; default: from the oldest stored change.'),
    limit,
    kinds,
    slugs,
  }),
  reply: Type.Object({
    changes: Type.Array(MarketChange, { description: 'Oldest first.' }),
    next: { ...Text, description: '`after` of the next call.' },
    more: Type.Boolean({ description: 'Whether there are further changes now.' }),
  }),
  faults: ['markets.history_expired'],
  example: {
    input: { after: '227', limit: 1 },
    reply: { changes: [change], next: '228', more: true },
  },
})

export const changeStream = endpoint('markets.changeStream', {
  summary: 'Changes of market records as they happen, as server-sent events.',
  notes:
    'An event named `change` contains one change as JSON. An event named `cursor` comes first, and from time to time without a change. The event id is the cursor: after a disconnect, continue with `last-event-id`. Without a cursor, the stream starts now.',
  input: Type.Object({
    after: cursor('Return changes after this cursor; default: from now on.'),
    lastEventId: cursor('Sent by event sources when they reconnect; takes precedence over `after`.'),
    kinds,
    slugs,
  }),
  reply: MarketChange,
  faults: ['markets.history_expired', 'markets.streams_full', 'markets.streams_per_caller'],
  example: { input: { kinds: ['market'] }, reply: change },
})
