// Broken servers: markets.
import {
  type Change,
  changeDefault,
  constant,
  type Defect,
  ignoreParameter,
  ignoreRequestHeader,
  renameField,
  replaceHeader,
  replaceParameter,
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
  [
    'a series inside an event has events',
    'markets.references',
    replaceValue(market, 'events.*.series.*.events', constant([{ id: '1', slug: 'e', title: 'E' }])),
  ],
  ['include_tag is ignored', 'markets.tags', ignoreParameter('include_tag')],
  ['etags are not compared', 'markets.unchanged', ignoreRequestHeader('if-none-match')],
  ['there is no last-modified', 'markets.unchanged', replaceHeader('last-modified')],
  ['responses must not be cached', 'markets.unchanged', replaceHeader('cache-control', 'no-store')],
  ['a past slug has no content-location', 'markets.past-slugs', replaceHeader('content-location')],
  ['an unknown slug is a success', 'markets.unknown', status(404, 200)],
  ['a malformed slug is not found', 'markets.unknown', status(422, 404)],
  [
    'a list has short markets',
    'markets.list.records',
    replaceList('/markets', ([{ id, slug } = {}]) => [{ id, slug }]),
  ],
  ['the names of markets are ignored', 'markets.list.records', ignoreParameter('slug')],
  ['lists contain closed markets', 'markets.list.filters', changeDefault('closed', 'true')],
  ['the lowest volume is ignored', 'markets.list.filters', ignoreParameter('volume_num_min')],
  ['the order is ignored', 'markets.list.order', ignoreParameter('order')],
  ['lists are always ascending', 'markets.list.order', ignoreParameter('ascending')],
  ['cursors are ignored', 'markets.list.pages', ignoreParameter('after_cursor')],
  ['offsets are ignored', 'markets.list.pages', ignoreParameter('offset')],
  ['there is no next cursor', 'markets.list.pages', replaceValue('/keyset', 'next_cursor', constant(undefined))],
  ['lists have no etag', 'markets.list.unchanged', replaceHeader('etag')],
  ['etags of lists are not compared', 'markets.list.unchanged', ignoreRequestHeader('if-none-match')],
  ['an unknown order is ignored', 'markets.list.refusals', replaceParameter('order', 'id')],
  ['a high limit is lowered', 'markets.list.refusals', replaceParameter('limit', '500')],
  ['an event has no markets', 'markets.events', replaceValue('/events/', 'markets', constant(undefined))],
  ['an event contains references', 'markets.events', replaceValue('/events/', 'markets', constant([{ id: '1' }]))],
  ['an unknown event is a success', 'markets.events', status(404, 200)],
  ['events cannot be skipped', 'markets.list.events', ignoreParameter('offset')],
  ['cursors of events are ignored', 'markets.list.events', ignoreParameter('after_cursor')],
  ['the id returns a market without tags', 'markets.id', replaceValue('/markets/5', 'tags', constant(undefined))],
  [
    'an unknown id is a success',
    'markets.id',
    statusWhere(200, ({ url }) => url.pathname.startsWith('/markets/no-such')),
  ],
  ['tags cannot be skipped', 'markets.list.tags', ignoreParameter('offset')],
  ['a series has another id', 'markets.series', replaceValue('/series/', 'id', constant('another'))],
  ['a list has short series', 'markets.list.series', replaceList('/series', ([{ id } = {}]) => [{ id }])],
  ['a tag has another slug', 'markets.tag', replaceValue('/tags/slug/', 'slug', constant('another'))],
  ['an unknown tag is a success', 'markets.tag', statusWhere(200, ({ url }) => url.pathname.includes('/tags/no-such'))],
  ['a market has more tags', 'markets.tag', replaceTags('/markets/')],
  ['an event has more tags', 'markets.tag', replaceTags('/events/')],
  ['the search ignores the words', 'markets.public-search', replaceParameter('q', 'no such market')],
  [
    'the search finds references',
    'markets.public-search',
    replaceValue('/public-search', 'events.*.markets', constant([])),
  ],
]

type Records = Readonly<Record<string, unknown>>[]

/** Changes a list at exactly this path. */
function replaceList(path: string, change: (records: Records) => unknown): Change {
  return {
    alterReply: ({ text }, { url }) =>
      url.pathname === path ? { text: JSON.stringify(change(JSON.parse(text))) } : undefined,
  }
}

/** Adds a tag to a list of the tags of a record. */
function replaceTags(start: string): Change {
  return {
    alterReply: ({ text }, { url }) =>
      url.pathname.startsWith(start) && url.pathname.endsWith('/tags')
        ? { text: JSON.stringify([...JSON.parse(text), { id: 'another' }]) }
        : undefined,
  }
}

function otherMarket(): Change {
  const body = JSON.stringify({ id: '1', slug: 'another', question: 'Is it?' })
  return { alterReply: (_, { url }) => (url.pathname.startsWith(market) ? { text: body } : undefined) }
}
