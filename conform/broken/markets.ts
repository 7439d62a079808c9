// Ways to be wrong about markets.
import {
  always,
  type Break,
  type Change,
  header,
  ignored,
  put,
  renamed,
  status,
  statusWhere,
  unheard,
} from './change.ts'

const market = '/markets/slug/'

export const marketsBreaks: readonly Break[] = [
  ['an optional field is renamed', 'markets.record', renamed(market, 'volumeNum', 'volumeNumber')],
  ['a field of a related record is renamed', 'markets.record', put(market, 'tags.*.name', always('x'))],
  ['answers are not said to be JSON', 'markets.record', header('content-type', 'text/html')],
  ['a market does not say who it is', 'markets.record', put(market, 'question', always(undefined))],
  ['another market is answered', 'markets.slug', another()],
  ['a key is asked for', 'markets.open', statusWhere(401, ({ headers }) => !headers.has('authorization'))],
  ['fields without a value are null', 'markets.values', put(market, 'line', always(null))],
  [
    'markets inside an event are whole',
    'markets.references',
    put(market, 'events.*.markets', always([{ volumeNum: 1 }])),
  ],
  ['include_tag is not heeded', 'markets.tags', ignored('include_tag')],
  ['etags are not compared', 'markets.unchanged', unheard('if-none-match')],
  ['there is no last-modified', 'markets.unchanged', header('last-modified')],
  ['caches are told nothing', 'markets.unchanged', header('cache-control', 'no-store')],
  ['a past slug does not tell the present path', 'markets.past-slugs', header('content-location')],
  ['an unknown slug is an empty market', 'markets.unknown', status(404, 200)],
  ['a malformed slug is not found', 'markets.unknown', status(422, 404)],
]

function another(): Change {
  const body = JSON.stringify({ id: '1', slug: 'another', question: 'Is it?' })
  return { give: (_, { url }) => (url.pathname.startsWith(market) ? { text: body } : undefined) }
}
