// Requests without a valid key that were built to cost much, for bench/hostile.ts.
export interface HostileRequest {
  readonly name: string
  readonly bytes: Buffer
}

export const request = (name: string, line: string, headers: readonly string[] = [], body = ''): HostileRequest => {
  const length = body === '' ? [] : [`content-length: ${Buffer.byteLength(body)}`]
  const head = [`${line} HTTP/1.1`, 'host: localhost', ...length, ...headers, '', ''].join('\r\n')
  return { name, bytes: Buffer.from(head + body, 'latin1') }
}

const filled = (text: string, bytes: number): string => text.repeat(Math.floor(bytes / text.length))
const numbered = (bytes: number): string =>
  Array.from({ length: Math.floor(bytes / 7) }, (_, at) => `${String(at % 99_999).padStart(5, '0')}=`).join('&')

const [longUrl, url, header, body] = [1_300_000, 16_000, 15_000, 65_000]
const fills = [
  '+',
  '&',
  '=',
  '%zz',
  '%',
  '%31',
  'a&',
  '%69ndices=%31&',
  'indices=%31&',
  'indices=1&',
  '+%20',
  '%E2%82&',
]
const badKey = `authorization: Bearer tetrad:0123456789abcdef:${'w'.repeat(43)}`
export const json = ['content-type: application/json', 'accept: application/json, text/event-stream']
const form = ['content-type: application/x-www-form-urlencoded']

const ratings = '/v0/eth/validators/effectiveness'
const ratingRequests = [
  ...fills.map((fill) => [fill, filled(fill, longUrl)] as const),
  ['names', numbered(longUrl)] as const,
].flatMap(([name, text]) => [
  request(`4.5 ${name}`, `GET ${ratings}?${text}`),
  request(`4.5 indices=${name}`, `GET ${ratings}?indices=${text}`),
  request(`4.5 ${name}, invalid key`, `GET ${ratings}?${text}`, [badKey]),
])

const shortRequests = [...fills, ',', '"', "'"].flatMap((fill) => [
  request(`4.3 ${fill}`, `GET /v2/api?${filled(fill, url)}`),
  request(`4.3 form ${fill}`, 'POST /v2/api', form, filled(fill, body)),
  request(`4.3 form module=${fill}`, 'POST /v2/api', form, `module=${filled(fill, body)}`),
  request(`4.8 ${fill}`, `GET /markets/slug/a?${filled(fill, url)}`),
  request(`search q=${fill}`, `GET /markets/search?q=${filled(fill, url)}`),
  request(`list ${fill}`, `GET /markets?tag_id=${filled(fill, url)}`),
  request(`path ${fill}`, `GET /markets/slug/${filled(fill, url)}`),
  request(`unknown path ${fill}`, `GET /${filled(fill, url)}`),
  request(`health ${fill}`, `GET /healthz?${filled(fill, url)}`),
  request(`download ${fill}`, `GET /exports/1/labelmasterlist_latest.csv?expires=1&signature=${filled(fill, url)}`),
])

const headerFills = ['a', ',', '"', '"a",', 'W/', 'gzip;q=0.1,', ' ', ';', 'tetrad:a:', '1.1.1.1,']
const headerNames = [
  'accept-encoding',
  'if-none-match',
  'authorization',
  'x-request-id',
  'cookie',
  'x-forwarded-for',
  'host',
]
const headerRequests = headerNames.flatMap((name) =>
  headerFills.map((fill) => request(`${name}: ${fill}`, 'GET /markets/slug/a', [`${name}: x${filled(fill, header)}x`])),
)

const message = (method: string, params: unknown) => JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
const call = (name: string, input: unknown) => message('tools/call', { name, arguments: input })
const mcp = (name: string, text: string, headers: readonly string[] = []) =>
  request(`MCP ${name}`, 'POST /mcp', [...json, ...headers], text)
const members = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`m${at}`, 1]))
const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`
const initialize = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'a', version: '1' } }
const mcpRequests = [
  mcp('tools/list', message('tools/list', {})),
  mcp('initialize', message('initialize', initialize)),
  mcp('resources/list', message('resources/list', {})),
  mcp('resources/read', message('resources/read', { uri: 'tetrad://docs/validators.md' })),
  mcp('unknown method', message('x'.repeat(60_000), {})),
  mcp('unknown tool', call('x'.repeat(60_000), {})),
  mcp('6 000 unknown arguments', call('markets_bySlug', members(6000))),
  mcp('6 000 unknown arguments, invalid key', call('markets_bySlug', members(6000)), [badKey]),
  mcp('6 000 unknown parameters', message('tools/list', members(6000))),
  mcp('6 000 unknown members', JSON.stringify({ ...members(6000), jsonrpc: '2.0', id: 1, method: 'tools/list' })),
  mcp('10 000 indices', call('validators_aggregateEffectiveness', { indices: Array(10_000).fill(1) })),
  mcp('30 000 wrong indices', call('validators_aggregateEffectiveness', { indices: Array(30_000).fill('') })),
  mcp('20 000 empty lists', call('markets_bySlug', { slug: Array(20_000).fill([]) })),
  mcp('nested argument', call('markets_bySlug', 0).replace(':0', `:{"slug":${nested(30_000)}}`)),
  mcp('nested parameters', message('tools/list', 0).replace('params":0', `params":{"cursor":${nested(30_000)}}`)),
  mcp('long slug', call('markets_bySlug', { slug: 'a'.repeat(60_000) })),
  mcp('invalid JSON', `${'{"a":'.repeat(10_000)}`),
  mcp('batch', `[${Array(1000).fill(message('tools/list', {})).join()}]`),
]

const quoteRequests = ['{"a":1', '{"from":', nested(30_000), filled('"a":1,', 60_000)].map((text) =>
  request(`4.4 ${text.slice(0, 8)}`, 'POST /v1/exchange/fx/quotes', json, text),
)

const openPaths = [
  ...['/openapi.json', '/metrics', '/coverage', '/readyz', '/', '/docs/', '/docs/endpoints/', '/assets/none.js'],
  ...['/favicon.svg', '/console/session', '/markets', '/markets?limit=500', '/events?limit=500', '/series?limit=500'],
  ...['/tags?limit=500', '/markets/search?q=a', '/markets/changes', '/nowhere', '/v0/eth/validators/1'],
]
const openRequests = openPaths.flatMap((path) => [
  request(path, `GET ${path}`),
  request(`${path} br`, `GET ${path}`, ['accept-encoding: br']),
])

/** In the order in which they are measured first. */
export const hostileRequests: readonly HostileRequest[] = [
  ...mcpRequests,
  ...openRequests,
  ...ratingRequests,
  request('4.5 by POST', `POST ${ratings}?${filled('+', longUrl)}`, json, '{}'),
  request('4.5 by OPTIONS', `OPTIONS ${ratings}?${filled('+', longUrl)}`),
  request('4.7 with a long query', `GET /v0/eth/validators/1?${filled('+', longUrl)}`),
  ...shortRequests,
  ...headerRequests,
  ...quoteRequests,
]

export const trivialRequest = request('/healthz', 'GET /healthz')
