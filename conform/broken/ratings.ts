// Ways to be wrong about validators.
import {
  type Asked,
  always,
  type Break,
  defaulted,
  ignored,
  plus,
  put,
  renamed,
  reversed,
  status,
  statusWhere,
  taken,
  textWhere,
  times,
  unheard,
  withoutLast,
} from './change.ts'

const aggregate = '/v0/eth/validators/effectiveness'
const single = '/v1/eth/validators/'
const metadata = '/v0/eth/validators/'
const page = (place: string) => `validators.aggregate.${place}`
const one = (place: string) => `validators.single.${place}`
const has = (name: string, value: string) => (asked: Asked) => asked.url.searchParams.get(name) === value

export const ratingsBreaks: readonly Break[] = [
  ['a measure is renamed', page('page'), renamed(aggregate, 'uptime', 'upTime')],
  ['size is not heeded', page('page'), taken('size', '10')],
  ['a measure is left out', page('fields'), put(aggregate, 'data.*.earnings', always(undefined))],
  ['size is 5 when left out', page('defaults'), defaulted('size', '5')],
  ['penalties are positive', page('signs'), put(aggregate, 'data.*.estimatedPenalties', always(1))],
  ['shares are percentages', page('signs'), put(aggregate, 'data.*.uptime', times(100))],
  ['include is not heeded', page('include'), ignored('include')],
  ['total is one too many', page('pages'), put(aggregate, 'total', plus(1))],
  ['each page loses a record', page('pages'), put(aggregate, 'data', withoutLast)],
  ['a page never ends inside a window', page('pages'), ignored('after')],
  ['there is never a next page', page('pages'), put(aggregate, 'next', always(null))],
  ['next is an absolute address', page('next'), put(aggregate, 'next', (link) => `https://elsewhere.test${link}`)],
  ['next forgets the size', page('next'), put(aggregate, 'next', (link) => String(link).replace('size=1', 'size=10'))],
  ['next forgets the fields', page('next'), put(aggregate, 'next', (link) => String(link).replace('include=', 'x='))],
  ['the oldest window comes first', page('newest-first'), put(aggregate, 'data', reversed)],
  ['size 0 gives a record', page('size-zero'), taken('size', '1', '0')],
  ['a page may have any size', page('size-zero'), taken('size', '1000', '1001')],
  [
    'a sum over validators is wrong',
    page('groups'),
    put(aggregate, 'data.*.earnings', plus(1), has('groupBy', 'timeWindow')),
  ],
  ['records name no validator', page('groups'), put(aggregate, 'data.*.validatorIndex', always(undefined))],
  [
    'a week is not the sum of its days',
    page('windows'),
    put(aggregate, 'data.*.totalAttestations', plus(1), has('granularity', 'week')),
  ],
  ['windows end before they begin', page('windows'), put(aggregate, 'data.*.endDay', always(0))],
  ['only one of a repeated parameter counts', page('who'), lastOnly('indices')],
  ['naming nobody is a success', page('who'), defaulted('indices', '1')],
  ['any network is answered', page('network'), unheard('x-validator-network')],
  ['problems do not name the parameter', page('enums'), put(aggregate, 'detail.*.loc', always(['query']))],
  ['a granularity is not known', one('page'), statusWhere(400, has('granularity', 'quarter'))],
  ['a required key is missing', one('page'), put(single, 'previous', always(undefined))],
  ['limit is 5 when left out', one('defaults'), defaulted('limit', '5')],
  ['pages counts something else', one('pages'), put(single, 'pages', plus(1))],
  ['offset is not heeded', one('pages'), ignored('offset')],
  ['there is never a previous page', one('pages'), put(single, 'previous', always(null))],
  ['links are relative', one('links'), put(single, 'next', always('/v1/x?offset=1'))],
  ['sortOrder is not heeded', one('order'), ignored('sortOrder')],
  ['sortBy is not heeded', one('order'), ignored('sortBy')],
  ['the last day is left out', one('bounds'), put(single, 'results', withoutLast)],
  ['utc is not heeded', one('utc'), ignored('utc')],
  ['a limit of 0 is taken', one('inputs'), taken('limit', '1', '0')],
  ['an unknown validator has no records', one('who'), status(404, 200)],
  ['a required key of a record is missing', 'validators.metadata.record', put(metadata, 'subpool', always(undefined))],
  ['another validator is answered', 'validators.metadata.record', put(metadata, 'validatorIndex', plus(1))],
  [
    'a public key without 0x is not understood',
    'validators.metadata.pubkey',
    statusWhere(404, ({ url }) => /\/[0-9a-f]{96}$/.test(url.pathname)),
  ],
  ['unknown lists are null', 'validators.metadata.unknowns', put(metadata, 'dvtOperators', always(null))],
  [
    'not found is told in another shape',
    'validators.metadata.unknown',
    textWhere('{"error":"not found"}', (given) => given.status === 404),
  ],
  ['a problem is a 422', 'validators.metadata.unknown', status(400, 422)],
]

function lastOnly(name: string): Break[2] {
  return {
    ask: ({ url }) => {
      url.searchParams.set(name, url.searchParams.getAll(name).at(-1) ?? '')
      return undefined
    },
  }
}
