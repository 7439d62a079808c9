// Ways to be wrong about markets.
import {
  type Change,
  constant,
  type Defect,
  ignoreParameter,
  ignoreRequestHeader,
  renameField,
  replaceHeader,
  replaceValue,
  status,
  statusWhere,
} from './change.ts'

const market = '/markets/slug/'

export const marketDefects: readonly Defect[] = [
  ['an optional field is renamed', 'markets.record', renameField(market, 'volumeNum', 'volumeNumber')],
  ['a field of a related record is renamed', 'markets.record', replaceValue(market, 'tags.*.name', constant('x'))],
  ['answers are not said to be JSON', 'markets.record', replaceHeader('content-type', 'text/html')],
  ['a market does not say who it is', 'markets.record', replaceValue(market, 'question', constant(undefined))],
  ['another market is answered', 'markets.slug', another()],
  ['a key is asked for', 'markets.open', statusWhere(401, ({ headers }) => !headers.has('authorization'))],
  ['fields without a value are null', 'markets.values', replaceValue(market, 'line', constant(null))],
  [
    'markets inside an event are whole',
    'markets.references',
    replaceValue(market, 'events.*.markets', constant([{ volumeNum: 1 }])),
  ],
  ['include_tag is not heeded', 'markets.tags', ignoreParameter('include_tag')],
  ['etags are not compared', 'markets.unchanged', ignoreRequestHeader('if-none-match')],
  ['there is no last-modified', 'markets.unchanged', replaceHeader('last-modified')],
  ['caches are told nothing', 'markets.unchanged', replaceHeader('cache-control', 'no-store')],
  ['a past slug does not tell the present path', 'markets.past-slugs', replaceHeader('content-location')],
  ['an unknown slug is an empty market', 'markets.unknown', status(404, 200)],
  ['a malformed slug is not found', 'markets.unknown', status(422, 404)],
]

function another(): Change {
  const body = JSON.stringify({ id: '1', slug: 'another', question: 'Is it?' })
  return { alterReply: (_, { url }) => (url.pathname.startsWith(market) ? { text: body } : undefined) }
}
