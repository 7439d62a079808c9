// Settings of the markets group: access, caching, history, streams and feeds.
import { PatternText, type Static, Type, withDefault } from '#api/contract/kit.ts'
import { boolean, choice, integer, list, object, section, text, wholeNumber } from './server.ts'

const parameter = (value: string, description: string) =>
  text(value, description, { pattern: '^[A-Za-z0-9_.~-]{0,64}$' })

const path = (value: string, description: string) =>
  text(value, description, { pattern: '^$|^[^.]+(\\.[^.]+)*$', maxLength: 200 })

const Paging = section(
  {
    kind: choice(
      ['offset', 'page', 'keyset', 'none'],
      'offset',
      'How the source is paged: by offset, by page number (`page`), by cursor (`keyset`), or not at all (`none`).',
    ),
    limit: parameter('limit', 'Query parameter for the page size; empty: none.'),
    size: integer(100, 1, 10_000, 'Records per page.'),
    offset: parameter('offset', 'Query parameter for the number of records to skip (`offset`).'),
    overlap: integer(
      5,
      0,
      1000,
      'Records that two pages have in common (`offset`), so that records that move up meanwhile are not missed.',
    ),
    page: parameter('page', 'Query parameter for the page number (`page`).'),
    firstPage: integer(1, 0, 1, 'Number of the first page (`page`).'),
    cursor: parameter('cursor', 'Query parameter for the cursor (`keyset`).'),
    next: path(
      'next_cursor',
      'Path to the next cursor in the page, names separated by dots; `last.<field>` is a field of the last record (`keyset`).',
    ),
  },
  'Paging of the source.',
)

const Recent = section(
  {
    since: parameter('', 'Query parameter for the time of the oldest change to list; empty: the source has none.'),
    newestFirst: boolean(
      false,
      'The source lists the newest changes first (see `query`), so reading can stop at known ones.',
    ),
    query: withDefault(
      Type.Record(Type.String(), Type.String(), {
        description: 'Query parameters of recent passes only, such as a sort order.',
      }),
      {},
    ),
    overlapMs: integer(120_000, 0, 86_400_000, 'How far before the newest known change a recent pass starts.'),
  },
  'Passes over recent changes. Without `since` and `newestFirst`, every pass is a full one.',
)

export const MarketFeed = object({
  id: Type.String({ pattern: '^[a-z0-9-]{1,32}$', description: 'Name in logs, metrics and reports.' }),
  url: PatternText('^https?://', 'begin with http:// or https://', {
    format: 'uri',
    description: 'URL of the list.',
  }),
  record: choice(['market', 'event'], 'market', 'What the list contains; events include their markets.'),
  list: path('', 'Path to the list in a page; empty: the page is the list.'),
  query: withDefault(
    Type.Record(Type.String(), Type.String(), { description: 'Query parameters of every request.' }),
    {},
  ),
  everyMs: integer(30_000, 250, 86_400_000, 'From the start of one pass to the start of the next.'),
  fullEveryMs: integer(21_600_000, 1000, 2_592_000_000, 'Interval of full passes.'),
  perSecond: withDefault(
    Type.Number({ minimum: 0.01, maximum: 1000, description: 'Maximum number of requests per second.' }),
    4,
  ),
  timeoutMs: integer(15_000, 100, 300_000, 'Timeout of one page.'),
  pageBytesMax: integer(33_554_432, 1024, 268_435_456, 'Maximum size of a page.'),
  pagesMax: integer(100_000, 1, 10_000_000, 'A pass with more pages fails.'),
  staleMs: integer(1_800_000, 1000, 2_592_000_000, 'The feed is not ready if no pass has finished for this long.'),
  vanishAfter: integer(
    2,
    1,
    100,
    'A market that is missing from this many consecutive full passes is marked as vanished.',
  ),
  vanishShareMax: withDefault(
    Type.Number({
      minimum: 0,
      maximum: 1,
      description:
        'Share of its markets that may be missing from a full pass. If more are missing, and more than 20 or all of them, none is marked as vanished and the feed is not ready. 1: no limit.',
    }),
    0.5,
  ),
  paging: Paging,
  recent: Recent,
  fields: withDefault(
    Type.Record(Type.String(), Type.Record(Type.String(), Type.String()), {
      description: 'Rename table: kind of record (or `all`) → name in the source → name in the contract.',
    }),
    {},
  ),
})
export type MarketFeed = Static<typeof MarketFeed>

export const marketsSettings = section(
  {
    requireKey: boolean(false, 'Require a key (`Bearer` or `apikey`). By default, markets are public.'),
    cacheMegabytes: integer(64, 0, 65_536, 'Size of the response cache.'),
    maxAgeSeconds: wholeNumber(5, '`max-age` of responses, in seconds.'),
    history: section(
      {
        keep: choice(
          ['off', 'days', 'forever'],
          'days',
          'Whether the history of changes is kept for some `days`, `forever`, or not at all (`off`).',
        ),
        keptDays: integer(
          365,
          1,
          36_500,
          'With `keep: days`: how far back past responses (`asOf`), past prices and changes of a market reach.',
        ),
        fullDays: integer(
          7,
          1,
          36_500,
          'How far back the changes of all markets can be listed, and streams can continue. Older changes are packed by the day.',
        ),
      },
      'How long changes are kept.',
    ),
    streamsMax: integer(200, 0, 10_000, 'Maximum number of concurrent change streams.'),
    streamsPerCaller: integer(
      10,
      0,
      10_000,
      'Maximum number of concurrent change streams per key, or per network address without a key.',
    ),
    feeds: list(MarketFeed, 32, 'Market feeds.'),
  },
  'Prediction markets.',
)
