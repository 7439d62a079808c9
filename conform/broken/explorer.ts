// Ways to be wrong about labels, links and fundings.
import {
  always,
  type Break,
  type Change,
  defaulted,
  type Given,
  header,
  ignored,
  put,
  statusWhere,
  taken,
  textWhere,
  times,
  unheard,
  withoutLast,
  words,
} from './change.ts'

const v1 = '/v1/api.ashx'
const v2 = '/v2/api'
const nothing = '{"status":"0","message":"No data found","result":[]}'

export const explorerBreaks: readonly Break[] = [
  ['the status of the envelope is a number', 'explorer.labels.v1', put(v1, 'status', always(1))],
  ['version 1 of the list is a link', 'explorer.labels.v1', put(v1, 'result', always('https://elsewhere.test/list'))],
  ['version 2 of the list is an object', 'explorer.labels.v2', put(v2, 'result', always({}))],
  ['a field of a label is renamed', 'explorer.labels.v2', words('"notes":', '"note":')],
  ['label times are milliseconds', 'explorer.labels.records', put(v1, 'result.*.lastupdatedtimestamp', times(1000))],
  ['slugs are in upper case', 'explorer.labels.records', put(v1, 'result.*.labelslug', (one) => `A${one}`)],
  ['a chain left out is another one', 'explorer.labels.default-chain', defaulted('chainid', '137')],
  ['a chain left out is no chain', 'explorer.funding.default-chain', defaulted('chainid', '999999999')],
  ['the two versions of the list differ', 'explorer.labels.versions-agree', put(v1, 'result', withoutLast)],
  ['the unavailable chain is served', 'explorer.labels.unavailable-chain', taken('chainid', '1')],
  ['any chain is served', 'explorer.labels.unsupported-chain', taken('chainid', '1')],
  ['any chain is served for fundings', 'explorer.funding.chain', taken('chainid', '1')],
  ['an unknown format is not heeded', 'explorer.labels.format', ignored('format')],
  [
    'the key is checked before the module',
    'explorer.selectors',
    words('Error! Missing Or invalid Module name', 'Missing/Invalid API Key'),
  ],
  ['forms are not read', 'explorer.any-case-and-forms', unheard('content-type', 'text/plain')],
  ['a funding time is a number', 'explorer.funding.record', put(v2, 'result.timeStamp', Number)],
  [
    'a failure has HTTP 400',
    'explorer.funding.address',
    { give: (given) => (isFailure(given) ? { status: 400 } : {}) },
  ],
  ['a failure is told in other words', 'explorer.funding.address', words('Invalid address', 'Bad address')],
  [
    'addresses must be lower-case',
    'explorer.funding.letter-case',
    textWhere(nothing, (_, { url }) => /[A-F]/.test(url.searchParams.get('address') ?? '')),
  ],
  ['nothing found is null', 'explorer.funding.nothing', put(v2, 'result', always(null))],
  [
    'the limit of two calls is not kept',
    'explorer.funding.limit',
    textWhere(nothing, ({ text }) => text.includes('Max calls')),
  ],
  ['a refused call is not told when to come back', 'explorer.funding.limit', header('retry-after')],
  ['the limit names another figure', 'explorer.funding.limit', words('2/sec', '5/sec')],
  ['changed links work', 'explorer.link.forged', statusWhere(200, ({ url }) => url.pathname.startsWith('/exports/'))],
  ['links say that they live an hour', 'explorer.link.life', laterLinks()],
  ['the CSV has no header line', 'explorer.link.csv', words(/^[a-z,]+\r\n/g, '', '.csv')],
  ['the JSON file is an object', 'explorer.link.json', textWhere('{}', (_, { url }) => url.pathname.endsWith('.json'))],
  ['files need a key', 'explorer.link.json', statusWhere(401, ({ url }) => url.pathname.startsWith('/exports/'))],
]

const isFailure = ({ text }: Given): boolean => text.startsWith('{"status":"0"')

function laterLinks(): Change {
  const later = (_: string, at: string) => `expires=${Number(at) + 3300}`
  return { give: ({ text }) => ({ text: text.replace(/expires=(\d+)/, later) }) }
}

/** Answers a link for ever as it was answered first. */
export function livingLinks(): Change {
  const kept = new Map<string, Given>()
  return {
    give: (given, { url }) => {
      if (!url.pathname.startsWith('/exports/')) return undefined
      const first = kept.get(url.href) ?? given
      kept.set(url.href, first)
      return first
    },
  }
}
