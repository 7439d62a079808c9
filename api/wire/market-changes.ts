// Group D beyond the specification: what changed in market records, field by field (behaviour/markets.md#history).
import { DateTime, endpoint, many, nullable, oneOf, PatternText, type Static, Text, Type, withDefault } from '../kit.ts'
import { extensionRoutes } from '../routes.ts'
import { slug } from './markets.ts'

/** The kinds of records that changes are told of. */
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
  field: Text,
  before: Type.Optional(
    Type.Unknown({ description: 'Left out where there was no value; ids where records are linked.' }),
  ),
  after: Type.Optional(Type.Unknown({ description: 'Left out where there is no value any more.' })),
})

export const MarketChange = Type.Object({
  cursor: Type.String({ description: 'Its place in the order of all changes.' }),
  at: { ...DateTime, description: 'When it became known here.' },
  kind: oneOf(changeKinds, { description: 'What kind of record changed.' }),
  id: Text,
  slug: Type.Optional(Type.String({ description: 'Present slug of the record, where it has one.' })),
  change: oneOf(['created', 'changed', 'vanished', 'returned'], {
    description: '`vanished`: no feed shows it any more; `returned`: one does again.',
  }),
  fields: Type.Array(FieldChange),
})
export type MarketChange = Static<typeof MarketChange>

const cursor = (description: string) =>
  Type.Optional(PatternText('^\\d{1,15}$', 'be a number of at most 15 digits', { description }))
const limit = withDefault(Type.Integer({ minimum: 1, maximum: 1000, description: 'Changes per page.' }), 100)
const kinds = Type.Optional(
  many(oneOf(changeKinds), { maxItems: 10, description: 'Only records of these kinds (all when left out).' }),
)
const slugs = Type.Optional(
  many(slug, { maxItems: 200, description: 'Only these markets, by present or past slug. Implies the kind `market`.' }),
)

const change: MarketChange = {
  cursor: '228',
  at: '2026-11-15T11:59:30.000Z',
  kind: 'market',
  id: '501',
  slug: 'will-the-harbour-bridge-open-in-2026',
  change: 'changed',
  fields: [{ field: 'bestBid', before: 0.6, after: 0.61 }],
}

export const changesBySlug = endpoint({
  ...extensionRoutes['markets.changesBySlug'],
  id: 'markets.changesBySlug',
  summary: 'What changed in one market and when, field by field, newest first.',
  notes: 'Pages run back in time: `next` is the `cursor` of the following page, null at the end of what is kept.',
  input: Type.Object({
    slug,
    cursor: cursor('Where the page starts; left out: the newest change.'),
    limit,
    fields: Type.Optional(
      many(Text, {
        maxItems: 50,
        description: 'Only changes of these fields; other names than those of fields are refused.',
      }),
    ),
    related: withDefault(
      Type.Boolean({ description: 'With `true` also changes of the records that the market shows.' }),
      false,
    ),
  }),
  reply: Type.Object({ changes: Type.Array(MarketChange), next: nullable(Text) }),
  faults: ['record.unknown', 'markets.not_covered', 'markets.too_much'],
  example: {
    input: { slug: 'will-the-harbour-bridge-open-in-2026', limit: 1 },
    reply: { changes: [change], next: '21' },
  },
})

export const changes = endpoint({
  ...extensionRoutes['markets.changes'],
  id: 'markets.changes',
  summary: 'Changes of all market records, or of chosen ones, oldest first.',
  notes:
    'Ask again with `after` set to `next`; `more` tells whether that gives something at once. A cursor that is no longer kept, or is ahead of the newest change, is refused with 410.',
  input: Type.Object({
    after: cursor('The cursor up to which changes are known already; left out: from the oldest that is kept.'),
    limit,
    kinds,
    slugs,
  }),
  reply: Type.Object({ changes: Type.Array(MarketChange), next: Text, more: Type.Boolean() }),
  faults: ['markets.history_gone'],
  example: {
    input: { after: '227', limit: 1 },
    reply: { changes: [change], next: '228', more: true },
  },
})

export const changeStream = endpoint({
  ...extensionRoutes['markets.changeStream'],
  id: 'markets.changeStream',
  summary: 'The same changes as they happen, as server-sent events.',
  notes:
    'An event named `change` has one change as its data, as JSON. One named `cursor` comes first, and now and then when there is nothing to tell. The id of either is the cursor: a caller that was cut off goes on there with `last-event-id`; without a cursor the stream starts now.',
  input: Type.Object({
    after: cursor('The cursor up to which changes are known already; left out: now.'),
    lastEventId: cursor('Sent by event sources when they reconnect; wins over `after`.'),
    kinds,
    slugs,
  }),
  reply: MarketChange,
  faults: ['markets.history_gone', 'markets.streams_full', 'markets.streams_own'],
  example: { input: { kinds: ['market'] }, reply: change },
})
