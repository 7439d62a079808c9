// Broken servers: markets.
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
  ['the content-type is not JSON', 'markets.record', replaceHeader('content-type', 'text/html')],
  ['a market has no question', 'markets.record', replaceValue(market, 'question', constant(undefined))],
  ['another market is returned', 'markets.slug', otherMarket()],
  ['a key is required', 'markets.open', statusWhere(401, ({ headers }) => !headers.has('authorization'))],
  ['fields without a value are null', 'markets.values', replaceValue(market, 'line', constant(null))],
  [
    'markets inside an event are not references',
    'markets.references',
    replaceValue(market, 'events.*.markets', constant([{ volumeNum: 1 }])),
  ],
  ['include_tag is ignored', 'markets.tags', ignoreParameter('include_tag')],
  ['etags are not compared', 'markets.unchanged', ignoreRequestHeader('if-none-match')],
  ['there is no last-modified', 'markets.unchanged', replaceHeader('last-modified')],
  ['responses must not be cached', 'markets.unchanged', replaceHeader('cache-control', 'no-store')],
  ['a past slug has no content-location', 'markets.past-slugs', replaceHeader('content-location')],
  ['an unknown slug is a success', 'markets.unknown', status(404, 200)],
  ['a malformed slug is not found', 'markets.unknown', status(422, 404)],
]

function otherMarket(): Change {
  const body = JSON.stringify({ id: '1', slug: 'another', question: 'Is it?' })
  return { alterReply: (_, { url }) => (url.pathname.startsWith(market) ? { text: body } : undefined) }
}
