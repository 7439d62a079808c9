// Requests of hostile callers as bytes: malformed, huge, without keys, with invalid keys, and correct ones in between.
import type { SeededRandom } from '#simulator/seeded-random.ts'

export interface HostileRequest {
  readonly name: string
  readonly bytes: Buffer
  /** The server closes the connection after it. */
  readonly closes?: boolean
}

const texts = [
  ...['', '0', '-1', '1e9', '0x', '9007199254740993', 'NaN', 'null', '[]', '{}', '%00', '%', '%ff%fe', '..%2f..%2f'],
  ...['%F0%9F%92%A5', "';drop table keys;--", '2026-02-30', '9999-12-31T23:59:59Z', '__proto__', 'constructor'],
  ...['a'.repeat(5000), ','.repeat(3000), '1,'.repeat(3000), `0x${'f'.repeat(40)}`, `0x${'F'.repeat(96)}`, '12', '1'],
]

const paths = [
  '/v2/api?module=account&action=fundedby&chainid=1&address=@&apikey=@',
  '/v2/api?module=@&action=@&chainid=@&apikey=@',
  '/v1/api.ashx?module=nametag&action=getlabelmasterlist&apikey=@',
  '/v0/eth/validators/effectiveness?indices=@&from=@&to=@&size=@&granularity=@',
  '/v1/eth/validators/@/effectiveness?limit=@&offset=@&sortBy=@',
  '/v0/eth/validators/@',
  '/markets/slug/@',
  '/markets/search?q=@&limit=@',
  '/markets?limit=@&offset=@&order=@',
  '/markets/@',
  '/events?limit=@',
  '/exports/1/labelmasterlist_latest.csv?expires=@&signature=@',
  '/readyz',
  '/healthz',
  '/coverage',
  '/metrics',
  '/openapi.json',
  '/@',
]

const request = (method: string, path: string, headers: readonly string[] = [], body: string | Buffer = ''): Buffer => {
  const length = method === 'POST' || method === 'PUT' ? [`content-length: ${Buffer.byteLength(body)}`] : []
  const head = [`${method} ${path} HTTP/1.1`, 'host: localhost', ...length, ...headers, '', ''].join('\r\n')
  return Buffer.concat([Buffer.from(head), Buffer.from(body)])
}

const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)

const bodies = [
  '',
  '{',
  'null',
  '"text"',
  nested(30_000),
  `{"a":${nested(20_000)}}`,
  `{${'"a":1,'.repeat(8000)}"b":2}`,
  `{"from":{"currency":"USDC","amount":"${'9'.repeat(60_000)}"}}`,
  JSON.stringify({ from: { currency: 'USDC', amount: '1' }, to: { currency: 'EURC' }, tenor: 'instant' }),
  'x'.repeat(70_000),
]

type Draw = (draws: SeededRandom, key: string) => HostileRequest

const fill = (draws: SeededRandom, path: string) => path.replaceAll('@', () => draws.pick(texts))

const draws: readonly [weight: number, name: string, draw: (draws: SeededRandom, key: string) => Buffer][] = [
  [
    40,
    'parameters',
    (d) => request(d.pick(['GET', 'GET', 'GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS']), fill(d, d.pick(paths))),
  ],
  [
    10,
    'invalid key',
    (d) => request('GET', fill(d, d.pick(paths)), [`authorization: Bearer tetrad:${d.hex(8)}:${d.hex(43)}`]),
  ],
  [10, 'valid key', (d, key) => request('GET', fill(d, d.pick(paths)), [`authorization: Bearer ${key}`])],
  [
    6,
    'body',
    (d, key) =>
      request(
        'POST',
        '/v1/exchange/fx/quotes',
        ['content-type: application/json', `authorization: Bearer ${d.happens(0.5) ? key : 'x'}`],
        d.pick(bodies),
      ),
  ],
  [
    3,
    'form',
    (d) =>
      request(
        'POST',
        '/v2/api',
        ['content-type: application/x-www-form-urlencoded'],
        `${fill(d, 'module=@&action=@')}&${'a=1&'.repeat(d.whole(0, 10_000))}`,
      ),
  ],
  [
    4,
    'many headers',
    (d) =>
      request(
        'GET',
        '/healthz',
        Array.from({ length: d.whole(1, 400) }, (_, at) => `x-${at}: ${d.hex(20)}`),
      ),
  ],
  [2, 'many parameters', (d) => request('GET', `/markets/search?${'q=a&'.repeat(d.whole(1, 4000))}`)],
  [2, 'many cookies', (d) => request('GET', '/console', [`cookie: ${'a=b; '.repeat(d.whole(1, 3000))}`])],
  [
    2,
    'ranges and encodings',
    (d) =>
      request('GET', '/markets/slug/a', [
        'range: bytes=0-1,2-3,4-5',
        `accept-encoding: ${'gzip;q=0.1,'.repeat(d.whole(1, 1000))}`,
        `if-none-match: ${'"a",'.repeat(2000)}`,
      ]),
  ],
]

const closing: readonly [weight: number, name: string, draw: (draws: SeededRandom, key: string) => Buffer][] = [
  [1, 'long line', (d) => request('GET', `/${'a'.repeat(d.whole(10_000, 200_000))}`)],
  [
    1,
    'long list',
    (d) => request('GET', `/v0/eth/validators/effectiveness?indices=${'123456,'.repeat(d.whole(1000, 180_000))}`),
  ],
  [1, 'long header', (d) => request('GET', '/healthz', [`x: ${'a'.repeat(d.whole(10_000, 100_000))}`])],
  [1, 'noise', (d) => Buffer.from(d.hex(2 * d.whole(1, 4000)), 'hex')],
  [
    1,
    'two lengths',
    () => Buffer.from('POST /v2/api HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello!'),
  ],
  [
    1,
    'length and chunks',
    () =>
      Buffer.from(
        'POST /v2/api HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n',
      ),
  ],
  [
    1,
    'bad chunks',
    () => Buffer.from('POST /v2/api HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nhello\r\n'),
  ],
  [
    1,
    'huge length',
    () => Buffer.from('POST /v1/exchange/fx/quotes HTTP/1.1\r\nhost: a\r\ncontent-length: 99999999999\r\n\r\n{'),
  ],
  [1, 'upgrade', () => request('GET', '/', ['connection: upgrade', 'upgrade: websocket'])],
  [1, 'other protocol', () => Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')],
  [1, 'bare line feeds', () => Buffer.from('GET /healthz HTTP/1.1\nhost: a\n\n')],
  [1, 'absolute address', () => request('GET', 'http://other.example/markets/slug/a')],
]

const drawer = (
  choices: readonly [number, string, (draws: SeededRandom, key: string) => Buffer][],
  closes: boolean,
): Draw => {
  const weighted = choices.flatMap(([weight, ...choice]) => Array.from({ length: weight }, () => choice))
  return (d, key) => {
    const [name, draw] = d.pick(weighted)
    return { name, bytes: draw(d, key), closes }
  }
}

/** After these, a connection can be used for another request. */
export const drawRequest: Draw = drawer(draws, false)
/** After these, it may be closed. */
export const drawClosing: Draw = drawer(closing, true)

export const lastRequest: Buffer = request('GET', '/healthz', ['connection: close'])
