// Broken servers: labels, links and fundings.
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
const notFound = '{"status":"0","message":"No data found","result":[]}'

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
  ['the default chain is 137', 'explorer.labels.default-chain', changeDefault('chainid', '137')],
  ['the default chain is unsupported', 'explorer.funding.default-chain', changeDefault('chainid', '999999999')],
  ['the two versions of the list differ', 'explorer.labels.versions-agree', replaceValue(v1, 'result', withoutLast)],
  ['the unavailable chain is served', 'explorer.labels.unavailable-chain', replaceParameter('chainid', '1')],
  ['any chain is served', 'explorer.labels.unsupported-chain', replaceParameter('chainid', '1')],
  ['any chain is served for fundings', 'explorer.funding.chain', replaceParameter('chainid', '1')],
  ['an unknown format is ignored', 'explorer.labels.format', ignoreParameter('format')],
  [
    'the key is checked before the module',
    'explorer.selectors',
    replaceText('Error! Missing Or invalid Module name', 'Missing/Invalid API Key'),
  ],
  [
    'the module is checked before a wrong key',
    'explorer.selectors',
    textWhere(
      '{"status":"0","message":"NOTOK","result":"Error! Missing Or invalid Module name"}',
      (_, { url }) => url.searchParams.get('module') === 'nothing',
    ),
  ],
  ['forms are not read', 'explorer.any-case-and-forms', ignoreRequestHeader('content-type', 'text/plain')],
  ['a funding time is a number', 'explorer.funding.record', replaceValue(v2, 'result.timeStamp', Number)],
  [
    'an error returns HTTP 400',
    'explorer.funding.address',
    { alterReply: (reply) => (isFailure(reply) ? { status: 400 } : {}) },
  ],
  ['an error has another message', 'explorer.funding.address', replaceText('Invalid address', 'Bad address')],
  [
    'addresses must be lower-case',
    'explorer.funding.letter-case',
    textWhere(notFound, (_, { url }) => /[A-F]/.test(url.searchParams.get('address') ?? '')),
  ],
  ['not found is null', 'explorer.funding.nothing', replaceValue(v2, 'result', constant(null))],
  [
    'the rate limit is not enforced',
    'explorer.funding.limit',
    textWhere(notFound, ({ text }) => text.includes('Max calls')),
  ],
  ['a refused call has no retry-after', 'explorer.funding.limit', replaceHeader('retry-after')],
  ['the rate limit message has another number', 'explorer.funding.limit', replaceText('2/sec', '5/sec')],
  ['changed links work', 'explorer.link.forged', statusWhere(200, ({ url }) => url.pathname.startsWith('/exports/'))],
  ['links expire after an hour', 'explorer.link.lifetime', laterLinks()],
  ['the CSV has no header line', 'explorer.link.csv', replaceText(/^[a-z,]+\r\n/g, '', '.csv')],
  ['the JSON file is an object', 'explorer.link.json', textWhere('{}', (_, { url }) => url.pathname.endsWith('.json'))],
  ['the number of chains is wrong', 'explorer.extension.chains', replaceValue('/v2/chainlist', 'totalcount', times(2))],
  ['chain 1 is missing', 'explorer.extension.chains', replaceValue('/v2/chainlist', 'result.*.chainid', constant('7'))],
  [
    'the list of chains needs a key',
    'explorer.extension.chains',
    statusWhere(401, ({ url }) => url.pathname === '/v2/chainlist'),
  ],
  [
    'the calls left do not fit the limit',
    'explorer.extension.usage',
    replaceValue(v2, 'result.creditLimit', constant(5)),
  ],
  ['usage is text', 'explorer.extension.usage', replaceValue(v2, 'result.creditsUsed', String)],
  [
    'the label is that of another address',
    'explorer.extension.address-tag',
    replaceValue(v2, 'result.*.nametag', constant('Other')),
  ],
  ['labels have no slugs', 'explorer.extension.address-tag', replaceValue(v2, 'result.*.labels_slug', constant([]))],
  ['addresses are not checked', 'explorer.extension.address-tag', replaceText('Invalid address', 'Bad address')],
  [
    'another value of a funding in a list',
    'explorer.extension.fundings',
    replaceValue('/v2/fundings', 'result.*.funding.value', constant('1')),
  ],
  [
    'an address of a list is missing',
    'explorer.extension.fundings',
    replaceValue('/v2/fundings', 'result', (records) => (Array.isArray(records) ? records.slice(1) : records)),
  ],
  ['files need a key', 'explorer.link.json', statusWhere(401, ({ url }) => url.pathname.startsWith('/exports/'))],
]

const isFailure = ({ text }: ServerReply): boolean => text.startsWith('{"status":"0"')

function laterLinks(): Change {
  const later = (_: string, at: string) => `expires=${Number(at) + 3300}`
  return { alterReply: ({ text }) => ({ text: text.replace(/expires=(\d+)/, later) }) }
}

/** Always returns the first response of a link. */
export function neverExpiringLinks(): Change {
  const responses = new Map<string, ServerReply>()
  return {
    alterReply: (reply, { url }) => {
      if (!url.pathname.startsWith('/exports/')) return undefined
      const first = responses.get(url.href) ?? reply
      responses.set(url.href, first)
      return first
    },
  }
}
