// Settings of group D: who may read, what is kept ready and for how long, and the feeds that markets come from.
import { oneOf, PatternText, type Static, Type, withDefault } from '#api/kit.ts'
import { section } from './server.ts'

const whole = (value: number, minimum: number, maximum: number, description: string) =>
  withDefault(Type.Integer({ minimum, maximum, description }), value)

const parameter = (value: string, description: string) =>
  withDefault(Type.String({ pattern: '^[A-Za-z0-9_.~-]{0,64}$', description }), value)

const path = (value: string, description: string) =>
  withDefault(Type.String({ pattern: '^$|^[^.]+(\\.[^.]+)*$', maxLength: 200, description }), value)

const Paging = section(
  {
    kind: withDefault(
      oneOf(['offset', 'keyset'], { description: 'How the source is paged: by counting records, or by a cursor.' }),
      'offset',
    ),
    limit: parameter('limit', 'Query parameter that takes the page size; empty: none.'),
    size: whole(100, 1, 10_000, 'Records asked for per page.'),
    offset: parameter('offset', 'Query parameter that takes the number of records to skip (`offset`).'),
    overlap: whole(
      5,
      0,
      1000,
      'Records of a page asked for again with the next (`offset`): what moves up while paging is then not missed.',
    ),
    cursor: parameter('cursor', 'Query parameter that takes the cursor (`keyset`).'),
    next: path(
      'next_cursor',
      'Path to the next cursor in the page, names separated by points; `last.<field>` is a field of its last record (`keyset`).',
    ),
  },
  'How to go through the source page by page.',
)

const Recent = section(
  {
    since: parameter(
      '',
      'Query parameter that takes the time since which records are wanted; empty: the source has none.',
    ),
    newestFirst: withDefault(
      Type.Boolean({
        description: 'The source lists what changed last first (see `query`), so reading stops at what is known.',
      }),
      false,
    ),
    query: withDefault(
      Type.Record(Type.String(), Type.String(), { description: 'Parameters of recent passes only, such as an order.' }),
      {},
    ),
    overlapMs: whole(120_000, 0, 86_400_000, 'How much earlier than the newest change known is asked for.'),
  },
  'Passes over what changed lately. Without `since` and `newestFirst` every pass is a full one.',
)

export const MarketFeed = Type.Object(
  {
    id: Type.String({ pattern: '^[a-z0-9-]{1,32}$', description: 'Its name in logs, metrics and reports.' }),
    url: PatternText('^https?://', 'begin with http:// or https://', {
      format: 'uri',
      description: 'Address of the list.',
    }),
    record: withDefault(
      oneOf(['market', 'event'], { description: 'What the list holds; events bring their markets with them.' }),
      'market',
    ),
    list: path('', 'Path to the list in a page; empty: the page is the list.'),
    query: withDefault(Type.Record(Type.String(), Type.String(), { description: 'Parameters of every request.' }), {}),
    everyMs: whole(30_000, 250, 86_400_000, 'From the start of one pass to the start of the next.'),
    fullEveryMs: whole(21_600_000, 1000, 2_592_000_000, 'How often everything is read again.'),
    perSecond: withDefault(
      Type.Number({ minimum: 0.01, maximum: 1000, description: 'Requests per second, at most.' }),
      4,
    ),
    timeoutMs: whole(15_000, 100, 300_000, 'How long one page may take.'),
    pageBytesMax: whole(33_554_432, 1024, 268_435_456, 'Largest page.'),
    pagesMax: whole(100_000, 1, 10_000_000, 'Pages after which a pass is given up as endless.'),
    staleMs: whole(1_800_000, 1000, 2_592_000_000, 'Not ready when no pass was finished for so long.'),
    vanishAfter: whole(2, 1, 100, 'Full passes in a row without a market after which it counts as vanished.'),
    vanishShareMax: withDefault(
      Type.Number({
        minimum: 0,
        maximum: 1,
        description:
          'Share of its markets that a full pass may leave out. Beyond it, and if that is more than 20 or all of them, none is marked as vanished and the feed is reported as not ready; 1: no limit.',
      }),
      0.5,
    ),
    paging: Paging,
    recent: Recent,
    fields: withDefault(
      Type.Record(Type.String(), Type.Record(Type.String(), Type.String()), {
        description: 'Rename table: kind of record (`all` for every kind) → name in the source → name here.',
      }),
      {},
    ),
  },
  { additionalProperties: false },
)
export type MarketFeed = Static<typeof MarketFeed>

export const marketsSettings = section(
  {
    keyNeeded: withDefault(
      Type.Boolean({ description: 'Ask for a key (bearer or apikey); otherwise open to everyone.' }),
      false,
    ),
    cacheMegabytes: whole(64, 0, 65_536, 'Memory for answers that are kept ready.'),
    maxAgeSeconds: withDefault(Type.Integer({ minimum: 0, description: 'Lifetime told to caches.' }), 5),
    historyDays: whole(365, 0, 36_500, 'How long versions are kept; 0: for ever.'),
    streamsMax: whole(200, 0, 10_000, 'Streams of changes that are sent at the same time.'),
    streamsPerCaller: whole(10, 0, 10_000, 'Of these at most so many to one key, or to one address without a key.'),
    feeds: withDefault(Type.Array(MarketFeed, { maxItems: 32, description: 'Where markets are read from.' }), []),
  },
  'Prediction markets.',
)
