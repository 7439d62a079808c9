// Broken servers: validators.
import {
  type ClientRequest,
  changeDefault,
  constant,
  type Defect,
  ignoreParameter,
  ignoreRequestHeader,
  plus,
  renameField,
  replaceParameter,
  replaceValue,
  reversed,
  status,
  statusWhere,
  textWhere,
  times,
  withoutLast,
} from './change.ts'

const aggregate = '/v0/eth/validators/effectiveness'
const single = '/v1/eth/validators/'
const metadata = '/v0/eth/validators/'
const page = (part: string) => `validators.aggregate.${part}`
const one = (part: string) => `validators.single.${part}`
const has = (name: string, value: string) => (request: ClientRequest) => request.url.searchParams.get(name) === value

const hasIncluded = (name: string) => (request: ClientRequest) =>
  (request.url.searchParams.get('include') ?? '').split(',').includes(name)

const listed = (part: string) => `validators.list.${part}`
const isVersion0 = ({ url }: ClientRequest) => /^\/v0\/eth\/validators\/\d+\/effectiveness$/.test(url.pathname)

export const ratingDefects: readonly Defect[] = [
  [
    'a list has other metadata',
    listed('records'),
    replaceValue('/v0/eth/validators', 'data.*.pool', constant('Other')),
  ],
  ['the start of a list is ignored', listed('records'), ignoreParameter('from')],
  ['a list has no next page', listed('pages'), replaceValue('/v0/eth/validators', 'next', constant(null))],
  ['a list ignores its size', listed('pages'), replaceParameter('size', '100')],
  ['version 0 has other figures', listed('version-0'), replaceValue('/v0', 'data.*.earnings', plus(1), isVersion0)],
  ['the smallest operator comes first', listed('operators'), replaceValue('/v0/eth/operators', 'data', reversed)],
  ['the summary has another uptime', listed('operators'), replaceValue('/summary', 'avgUptime', constant(0))],
  ['any name is an operator', listed('operators'), status(404, 200)],
  ['old records come first', listed('operator-records'), replaceValue('/effectiveness', 'data', reversed)],
  ['records have no next page', listed('operator-records'), replaceValue('/effectiveness', 'next', constant(null))],
  ['the last day has another uptime', listed('network'), replaceValue('/stats', '*.avgUptime', constant(0))],
  [
    'all windows of the network begin with the same day',
    listed('network'),
    replaceValue('/overview', '*.startDay', constant(0)),
  ],
  ['a measure is renamed', page('page'), renameField(aggregate, 'uptime', 'upTime')],
  ['size is ignored', page('page'), replaceParameter('size', '10')],
  ['a measure is missing', page('fields'), replaceValue(aggregate, 'data.*.earnings', constant(undefined))],
  ['the default size is 5', page('defaults'), changeDefault('size', '5')],
  ['penalties are positive', page('signs'), replaceValue(aggregate, 'data.*.estimatedPenalties', constant(1))],
  ['shares are percentages', page('signs'), replaceValue(aggregate, 'data.*.uptime', times(100))],
  ['include is ignored', page('include'), ignoreParameter('include')],
  ['include refuses the index', page('include'), statusWhere(400, hasIncluded('validatorIndex'))],
  ['total is too large', page('pages'), replaceValue(aggregate, 'total', plus(1))],
  ['each page lacks a record', page('pages'), replaceValue(aggregate, 'data', withoutLast)],
  ['a page never ends inside a window', page('pages'), ignoreParameter('after')],
  ['there is never a next page', page('pages'), replaceValue(aggregate, 'next', constant(null))],
  ['next is an absolute URL', page('next'), replaceValue(aggregate, 'next', (link) => `https://elsewhere.test${link}`)],
  [
    'next lacks the size',
    page('next'),
    replaceValue(aggregate, 'next', (link) => String(link).replace('size=1', 'size=10')),
  ],
  [
    'next lacks the fields',
    page('next'),
    replaceValue(aggregate, 'next', (link) => String(link).replace('include=', 'x=')),
  ],
  ['next needs another parameter', page('next'), replaceValue(aggregate, 'next', (link) => `${link}&newest=1`)],
  ['the oldest window comes first', page('newest-first'), replaceValue(aggregate, 'data', reversed)],
  ['size 0 returns a record', page('size-zero'), replaceParameter('size', '1', '0')],
  ['a page may have any size', page('size-zero'), replaceParameter('size', '1000', '1001')],
  [
    'a sum over validators is wrong',
    page('groups'),
    replaceValue(aggregate, 'data.*.earnings', plus(1), has('groupBy', 'timeWindow')),
  ],
  [
    'records have no validatorIndex',
    page('groups'),
    replaceValue(aggregate, 'data.*.validatorIndex', constant(undefined)),
  ],
  [
    'a week is not the sum of its days',
    page('windows'),
    replaceValue(aggregate, 'data.*.totalAttestations', plus(1), has('granularity', 'week')),
  ],
  [
    'a date selects the day before',
    page('dates'),
    replaceValue(aggregate, 'data.*.day', plus(-1), has('filterType', 'datetime')),
  ],
  ['windows end before they start', page('windows'), replaceValue(aggregate, 'data.*.endDay', constant(0))],
  ['only the last value of a repeated parameter is used', page('selection'), keepLast('indices')],
  ['a request without validators is a success', page('selection'), changeDefault('indices', '1')],
  ['any network is accepted', page('network'), ignoreRequestHeader('x-validator-network')],
  [
    'a network that is not read has no reason',
    page('network'),
    textWhere('{"detail":"Not found."}', (reply) => reply.status === 404),
  ],
  [
    'validation errors do not name the parameter',
    page('enums'),
    replaceValue(aggregate, 'detail.*.loc', constant(['query'])),
  ],
  ['a granularity is not supported', one('page'), statusWhere(400, has('granularity', 'quarter'))],
  ['a required key is missing', one('page'), replaceValue(single, 'previous', constant(undefined))],
  ['the default limit is 5', one('defaults'), changeDefault('limit', '5')],
  ['pages is too large', one('pages'), replaceValue(single, 'pages', plus(1))],
  ['offset is ignored', one('pages'), ignoreParameter('offset')],
  ['there is never a previous page', one('pages'), replaceValue(single, 'previous', constant(null))],
  ['links are relative', one('links'), replaceValue(single, 'next', constant('/v1/x?offset=1'))],
  ['sortOrder is ignored', one('order'), ignoreParameter('sortOrder')],
  ['sortBy is ignored', one('order'), ignoreParameter('sortBy')],
  ['the last day is missing', one('bounds'), replaceValue(single, 'results', withoutLast)],
  ['utc is ignored', one('utc'), ignoreParameter('utc')],
  ['a limit of 0 is accepted', one('inputs'), replaceParameter('limit', '1', '0')],
  ['an unknown validator is a success', one('selection'), status(404, 200)],
  [
    'a required key of a record is missing',
    'validators.metadata.record',
    replaceValue(metadata, 'subpool', constant(undefined)),
  ],
  ['another validator is returned', 'validators.metadata.record', replaceValue(metadata, 'validatorIndex', plus(1))],
  [
    'a public key without 0x is not found',
    'validators.metadata.pubkey',
    statusWhere(404, ({ url }) => /\/[0-9a-f]{96}$/.test(url.pathname)),
  ],
  ['unknown lists are null', 'validators.metadata.unknowns', replaceValue(metadata, 'dvtOperators', constant(null))],
  [
    'not found has another error format',
    'validators.metadata.unknown',
    textWhere('{"error":"not found"}', (reply) => reply.status === 404),
  ],
  ['a validation error returns 422', 'validators.metadata.unknown', status(400, 422)],
]

function keepLast(name: string): Defect[2] {
  return {
    alterRequest: ({ url }) => {
      url.searchParams.set(name, url.searchParams.getAll(name).at(-1) ?? '')
      return undefined
    },
  }
}
