// Ways to be wrong about labels, links and fundings.
import {
  type Change,
  changeDefault,
  constant,
  type Defect,
  ignoreParameter,
  ignoreRequestHeader,
  replaceHeader,
  replaceParameter,
  replaceText,
  replaceValue,
  type ServerReply,
  statusWhere,
  textWhere,
  times,
  withoutLast,
} from './change.ts'

const v1 = '/v1/api.ashx'
const v2 = '/v2/api'
const nothing = '{"status":"0","message":"No data found","result":[]}'

export const explorerDefects: readonly Defect[] = [
  ['the status of the envelope is a number', 'explorer.labels.v1', replaceValue(v1, 'status', constant(1))],
  [
    'version 1 of the list is a link',
    'explorer.labels.v1',
    replaceValue(v1, 'result', constant('https://elsewhere.test/list')),
  ],
  ['version 2 of the list is an object', 'explorer.labels.v2', replaceValue(v2, 'result', constant({}))],
  ['a field of a label is renamed', 'explorer.labels.v2', replaceText('"notes":', '"note":')],
  [
    'label times are milliseconds',
    'explorer.labels.records',
    replaceValue(v1, 'result.*.lastupdatedtimestamp', times(1000)),
  ],
  ['slugs are in upper case', 'explorer.labels.records', replaceValue(v1, 'result.*.labelslug', (one) => `A${one}`)],
  ['a chain left out is another one', 'explorer.labels.default-chain', changeDefault('chainid', '137')],
  ['a chain left out is no chain', 'explorer.funding.default-chain', changeDefault('chainid', '999999999')],
  ['the two versions of the list differ', 'explorer.labels.versions-agree', replaceValue(v1, 'result', withoutLast)],
  ['the unavailable chain is served', 'explorer.labels.unavailable-chain', replaceParameter('chainid', '1')],
  ['any chain is served', 'explorer.labels.unsupported-chain', replaceParameter('chainid', '1')],
  ['any chain is served for fundings', 'explorer.funding.chain', replaceParameter('chainid', '1')],
  ['an unknown format is not heeded', 'explorer.labels.format', ignoreParameter('format')],
  [
    'the key is checked before the module',
    'explorer.selectors',
    replaceText('Error! Missing Or invalid Module name', 'Missing/Invalid API Key'),
  ],
  ['forms are not read', 'explorer.any-case-and-forms', ignoreRequestHeader('content-type', 'text/plain')],
  ['a funding time is a number', 'explorer.funding.record', replaceValue(v2, 'result.timeStamp', Number)],
  [
    'a failure has HTTP 400',
    'explorer.funding.address',
    { alterReply: (given) => (isFailure(given) ? { status: 400 } : {}) },
  ],
  ['a failure is told in other words', 'explorer.funding.address', replaceText('Invalid address', 'Bad address')],
  [
    'addresses must be lower-case',
    'explorer.funding.letter-case',
    textWhere(nothing, (_, { url }) => /[A-F]/.test(url.searchParams.get('address') ?? '')),
  ],
  ['nothing found is null', 'explorer.funding.nothing', replaceValue(v2, 'result', constant(null))],
  [
    'the limit of two calls is not kept',
    'explorer.funding.limit',
    textWhere(nothing, ({ text }) => text.includes('Max calls')),
  ],
  ['a refused call is not told when to come back', 'explorer.funding.limit', replaceHeader('retry-after')],
  ['the limit names another figure', 'explorer.funding.limit', replaceText('2/sec', '5/sec')],
  ['changed links work', 'explorer.link.forged', statusWhere(200, ({ url }) => url.pathname.startsWith('/exports/'))],
  ['links say that they live an hour', 'explorer.link.life', laterLinks()],
  ['the CSV has no header line', 'explorer.link.csv', replaceText(/^[a-z,]+\r\n/g, '', '.csv')],
  ['the JSON file is an object', 'explorer.link.json', textWhere('{}', (_, { url }) => url.pathname.endsWith('.json'))],
  ['files need a key', 'explorer.link.json', statusWhere(401, ({ url }) => url.pathname.startsWith('/exports/'))],
]

const isFailure = ({ text }: ServerReply): boolean => text.startsWith('{"status":"0"')

function laterLinks(): Change {
  const later = (_: string, at: string) => `expires=${Number(at) + 3300}`
  return { alterReply: ({ text }) => ({ text: text.replace(/expires=(\d+)/, later) }) }
}

/** Answers a link for ever as it was answered first. */
export function neverExpiringLinks(): Change {
  const kept = new Map<string, ServerReply>()
  return {
    alterReply: (given, { url }) => {
      if (!url.pathname.startsWith('/exports/')) return undefined
      const first = kept.get(url.href) ?? given
      kept.set(url.href, first)
      return first
    },
  }
}
