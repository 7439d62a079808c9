// Tests the HTTP server on real sockets: routing, limits, error formats, headers and closing. The handlers are those of
// this test.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { METHODS } from 'node:http'
import { connect } from 'node:net'
import { describe, test } from 'node:test'
import { contract } from '#api/contract/contract.ts'
import type { ErrorFormat } from '#api/contract/error-formats.ts'
import type { Endpoint } from '#api/contract/kit.ts'
import { allRoutes } from '#api/contract/routes.ts'
import { Fault } from '#core/fault.ts'
import { type Clock, systemClock } from '#runtime/clock.ts'
import { openLog } from '#runtime/log.ts'
import { everyone, wrongSecret } from '#test/authorization.ts'
import { openContext, settingsWith, testNowMs } from '#test/context.ts'
import { inject } from '#test/inject.ts'
import { ManualClock } from '#test/manual-clock.ts'
import { type Authorizer, openAuthorizer } from './authorize.ts'
import type { Context } from './context.ts'
import { createHandler, type Handler, type RequestInfo } from './handler.ts'
import { startHttpServer } from './http-server.ts'
import { createApp } from './pipeline.ts'
import { logRequest, openRequestLog } from './request-log.ts'

const errorFormatOf = (group: string): ErrorFormat => ({
  renderFault: (fault) => ({ status: group === 'explorer' ? 200 : fault.status, body: { group, code: fault.code } }),
  renderNotFound: () => ({ status: 404, body: { group, code: 'nothing' } }),
})

/** Returns its id and its input. */
const echo = (endpoint: Endpoint, reply?: (info: RequestInfo) => Promise<void>, showOrigin = false): Handler => ({
  ...createHandler(endpoint, async (input, _context, info) => {
    await reply?.(info)
    const headers: Record<string, string> = showOrigin ? { 'x-origin': info.origin } : {}
    return { is: 'bytes', bytes: Buffer.from(JSON.stringify({ id: endpoint.id, input })), headers }
  }),
  errorFormat: errorFormatOf(endpoint.group),
})

async function openTestServer(
  settings: object = {},
  options: {
    authorizer?: Authorizer
    reply?: (info: RequestInfo) => Promise<void>
    lines?: string[]
    clock?: Clock
    /** Sent as a header of the responses. */
    showOrigin?: boolean
  } = {},
) {
  const context = await openContext({ ...settings, server: { port: 0, ...(settings as { server?: object }).server } })
  const counted: string[] = []
  const app = createApp(
    { ...context, clock: options.clock ?? systemClock, log: openLog('info', (line) => options.lines?.push(line)) },
    Object.values(contract).map((one) => echo(one as unknown as Endpoint, options.reply, options.showOrigin)),
    options.authorizer ?? everyone,
    { request: (id, outcome) => counted.push(`${id} ${outcome}`) },
  )
  const httpServer = await startHttpServer(app, [
    { path: '/healthz', read: async () => ({ status: 200, headers: {}, body: '{}' }) },
  ])
  return {
    httpServer,
    url: httpServer.url,
    counted,
    async [Symbol.asyncDispose]() {
      await httpServer.close()
      await context[Symbol.asyncDispose]()
    },
  }
}

/** Sends raw bytes and returns everything that is received until the connection closes. */
async function exchange(url: string, bytes: string): Promise<string> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  let heard = ''
  socket.on('data', (chunk) => {
    heard += chunk
  })
  socket.write(bytes)
  await once(socket, 'close')
  return heard
}

const idOf = async (response: Response) => ((await response.json()) as { id?: string }).id
const codeOf = async (response: Response) => ((await response.json()) as { code?: string }).code

test('the signal of a handler aborts when the caller disconnects, and when the response is there', async () => {
  const signals: (AbortSignal | undefined)[] = []
  const arrived = Promise.withResolvers<void>()
  const aborted = Promise.withResolvers<void>()
  await using server = await openTestServer(
    {},
    {
      reply: async ({ signal }) => {
        signals.push(signal)
        if (signals.length > 1) return
        signal?.addEventListener('abort', () => aborted.resolve())
        arrived.resolve()
        await aborted.promise
      },
    },
  )
  const hangUp = new AbortController()
  const gone = fetch(`${server.url}/v0/eth/validators/1`, { signal: hangUp.signal })
  await arrived.promise
  hangUp.abort()
  await assert.rejects(gone)
  await aborted.promise
  assert.equal((await fetch(`${server.url}/v0/eth/validators/1`)).status, 200)
  assert.deepEqual(
    signals.map((signal) => signal?.reason.detail),
    ['the caller has disconnected', 'the request has ended'],
  )
})

describe('match', () => {
  test('4.1 and 4.3 share a path and are selected by module and action, ignoring case', async () => {
    await using server = await openTestServer()
    const ask = (query: string) => fetch(`${server.url}/v2/api?${query}`)
    assert.equal(await idOf(await ask('module=nametag&action=getlabelmasterlist')), 'explorer.labelListV2')
    assert.equal(await idOf(await ask('MODULE=account&Action=fundedby&Address=0x1')), 'explorer.fundedBy')
    assert.equal(await codeOf(await ask('module=moon&action=fundedby')), 'explorer.module')
    assert.equal(await codeOf(await ask('action=fundedby')), 'explorer.module')
    assert.equal(await codeOf(await ask('module=account&action=balance')), 'explorer.action')
  })

  test('group A also accepts parameters as a form', async () => {
    await using server = await openTestServer()
    const body = new URLSearchParams({ module: 'account', action: 'fundedby', address: '0x1', __proto__: 'x' })
    assert.equal(await idOf(await fetch(`${server.url}/v2/api`, { method: 'POST', body })), 'explorer.fundedBy')
  })

  test('the literal path of 4.5 takes precedence over the path parameter of 4.7', async () => {
    await using server = await openTestServer()
    const ask = (path: string) => fetch(`${server.url}/v0/eth/validators/${path}`)
    assert.equal(await idOf(await ask('effectiveness?indices=1')), 'validators.aggregateEffectiveness')
    assert.equal(await idOf(await ask('12')), 'validators.metadata')
  })

  test('a wrong method gets 405 with allow, an unknown path 404, in the error format of the group', async () => {
    await using server = await openTestServer()
    const wrong = await fetch(`${server.url}/markets/slug/a`, { method: 'DELETE' })
    assert.equal(wrong.status, 405)
    assert.equal(wrong.headers.get('allow'), 'GET, HEAD, OPTIONS')
    assert.deepEqual(await wrong.json(), { group: 'markets', code: 'route.method' })
    assert.equal((await fetch(`${server.url}/v1/exchange/fx/quotes`)).headers.get('allow'), 'POST, OPTIONS')
    assert.deepEqual(await (await fetch(`${server.url}/markets/slug/a/b`)).json(), {
      group: 'markets',
      code: 'route.unknown',
    })
    for (const [path, group] of [
      ['/markets/slug/a/b', 'markets'],
      ['/v0/eth/validator/12', 'validators'],
      ['/v0/rewards', 'validators'],
      ['/v1/exchange/fx/quote', 'fx'],
      ['/v2/apis', 'explorer'],
    ] as const) {
      const unknown = await fetch(`${server.url}${path}`)
      assert.equal(unknown.status, group === 'explorer' ? 200 : 404, path)
      assert.deepEqual(await unknown.json(), { group, code: 'route.unknown' })
    }
    // Three groups share the first segment.
    for (const path of ['/v1', '/v1/quotes'])
      assert.deepEqual(await (await fetch(server.url + path)).json(), {
        error: { code: 'route.unknown', message: 'No such path.' },
      })
    const nowhere = await fetch(`${server.url}/nowhere`)
    assert.equal(nowhere.status, 404)
    assert.deepEqual(await nowhere.json(), { error: { code: 'route.unknown', message: 'No such path.' } })
    assert.equal((await fetch(`${server.url}/healthz`, { method: 'POST' })).status, 405)
  })

  test('every wrong method gets 405, with or without a body', async () => {
    await using server = await openTestServer()
    const answered = ['GET', 'HEAD', 'OPTIONS', 'CONNECT']
    for (const method of METHODS.filter((one) => !answered.includes(one))) {
      for (const body of ['', 'x']) {
        const head = `${method} /markets/slug/a HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: ${body.length}\r\n\r\n`
        assert.match(await exchange(server.url, head + body), /^HTTP\/1\.1 405 /, method)
      }
    }
    assert.ok(!server.counted.includes('none server.internal'))
  })

  test('malformed percent-encoding is a parameter error in the format of the group', async () => {
    await using server = await openTestServer()
    const response = await fetch(`${server.url}/markets/slug/%zz`)
    assert.deepEqual(await response.json(), { group: 'markets', code: 'input.invalid' })
  })

  test('HEAD is like GET without the body', async () => {
    await using server = await openTestServer()
    const head = await fetch(`${server.url}/markets/slug/a`, { method: 'HEAD' })
    const get = await fetch(`${server.url}/markets/slug/a`)
    assert.equal(head.status, 200)
    assert.equal(await head.text(), '')
    assert.equal(head.headers.get('content-length'), String((await get.text()).length))
  })

  test('a disabled group, or one under another host name, gets 404', async () => {
    await using server = await openTestServer({
      groups: { markets: { enabled: false }, validators: { host: 'ratings.example' } },
    })
    assert.equal(await codeOf(await fetch(`${server.url}/markets/slug/a`)), 'route.disabled')
    assert.equal(await codeOf(await fetch(`${server.url}/v0/eth/validators/1`)), 'route.unknown')
    const named = await inject(server.httpServer, {
      url: '/v0/eth/validators/1',
      headers: { host: 'Ratings.example:8080' },
    })
    assert.equal(named.statusCode, 200)
  })

  test('aliases translate paths, headers and fields', async () => {
    await using server = await openTestServer({
      aliases: {
        paths: { '/rated/{v}': '/v0/eth/validators/{v}' },
        requestHeaders: { 'x-rated-network': 'x-validator-network' },
        responseFields: { validator_index_or_pubkey: 'validator', code: 'kind' },
        hiddenFields: ['id'],
      },
    })
    const response = await fetch(`${server.url}/rated/12`, { headers: { 'x-rated-network': 'hoodi' } })
    assert.deepEqual(await response.json(), { input: { validator: '12', network: 'hoodi' } })
    const long = await fetch(`${server.url}/v0/eth/validators/12?x=${'y'.repeat(17_000)}`)
    assert.deepEqual(await long.json(), { group: 'validators', kind: 'input.url_too_long' })
  })
})

describe('limits', () => {
  test('a request line beyond 16 KiB gets 414, except for 4.5, which accepts a megabyte', async () => {
    await using server = await openTestServer()
    const long = 'a'.repeat(17_000)
    assert.equal((await fetch(`${server.url}/markets/slug/x?y=${long}`)).status, 414)
    const indices = Array.from({ length: 10_000 }, (_, at) => at).join(',')
    const many = await fetch(`${server.url}/v0/eth/validators/effectiveness?indices=${indices}`)
    const { input } = (await many.json()) as { input: { indices: number[] } }
    assert.equal(input.indices.length, 10_000)
    const pubkeys = Array.from({ length: 10_000 }, (_, at) => `0x${at.toString(16).padStart(96, '0')}`).join(',')
    assert.equal((await fetch(`${server.url}/v0/eth/validators/effectiveness?pubkeys=${pubkeys}`)).status, 200)
    const tooLong = await fetch(
      `${server.url}/v0/eth/validators/effectiveness?pubkeys=${pubkeys}&x=${'a'.repeat(330_000)}`,
    )
    assert.equal(tooLong.status, 414)
  })

  test('only 4.5 accepts a megabyte; other paths return 414 and log a short line', async () => {
    const lines: string[] = []
    await using server = await openTestServer(
      { aliases: { paths: { '/rated/{x}': '/v0/eth/validators/{x}' } } },
      { lines },
    )
    const long = 'a'.repeat(1_000_000)
    for (const path of [
      '/nowhere',
      '/healthz',
      '/markets/slug/a',
      `/${long}`,
      '/markets/slug/%',
      '/v2/api',
      '/rated/1',
    ]) {
      assert.equal(
        (await inject(server.httpServer, { url: `${path}?${long}`, headers: { host: 'x' } })).statusCode,
        path === '/v2/api' ? 200 : 414,
        path,
      )
    }
    assert.deepEqual(server.counted, Array(7).fill('none input.url_too_long'))
    assert.ok(lines.every((line) => line.length < 1000))
    const allowed = `_=${'a'.repeat(1_250_000)}&indices=1`
    for (const path of ['/v0/eth/validators/effectiveness', '/rated/effectiveness']) {
      assert.equal((await fetch(`${server.url}${path}?${allowed}`)).status, 200, path)
    }
  })

  test('too many parameters are refused, in queries and forms', async () => {
    await using server = await openTestServer()
    const form = { method: 'POST', headers: { 'content-type': 'application/x-www-form-urlencoded' } }
    const repeated = await fetch(`${server.url}/v2/api`, { ...form, body: 'a&'.repeat(32_768) })
    assert.equal(await codeOf(repeated), 'input.invalid')
    const names = Array.from({ length: 1000 }, (_, at) => `n${at}`).join('&')
    assert.equal(await codeOf(await fetch(`${server.url}/v2/api`, { ...form, body: names })), 'input.invalid')
    for (const path of ['/markets/slug/a', '/v1/eth/validators/1/effectiveness']) {
      assert.equal((await fetch(`${server.url}${path}?${'a&'.repeat(65)}`)).status, 400, path)
      assert.equal((await fetch(`${server.url}${path}?${names}`)).status, 400, path)
    }
  })

  test('a query is not parsed before the key is checked, unless the key may be in it', async () => {
    const names = Array.from({ length: 1000 }, (_, at) => `n${at}`).join('&')
    const context = await openContext()
    await using server = await openTestServer({}, { authorizer: await openAuthorizer(context) })
    const codeFor = async (path: string, headers: Record<string, string> = {}) =>
      codeOf(await fetch(`${server.url}${path}?${names}`, { headers }))
    const invalidKey = { authorization: `Bearer tetrad:none:${wrongSecret}` }
    for (const path of ['/v0/eth/validators/effectiveness', '/v1/eth/validators/1/effectiveness']) {
      assert.equal(await codeFor(path), 'key.missing')
      assert.equal(await codeFor(path, invalidKey), 'key.invalid')
    }
    assert.equal(await codeFor('/markets/slug/a', invalidKey), 'key.invalid')
    assert.equal(await codeFor('/markets/slug/a'), 'input.invalid')
    assert.equal(await codeFor('/v2/api', invalidKey), 'input.invalid')
    await context[Symbol.asyncDispose]()
  })

  test('a path without parameters ignores the query', async () => {
    await using server = await openTestServer()
    assert.equal((await fetch(`${server.url}/healthz?${'a&'.repeat(1000)}`)).status, 200)
  })

  test('connections beyond connectionsMax are closed and logged once', async () => {
    const lines: string[] = []
    await using server = await openTestServer({ server: { connectionsMax: 1 } }, { lines })
    const { hostname, port } = new URL(server.url)
    const first = connect(Number(port), hostname)
    await once(first, 'connect')
    assert.equal(await exchange(server.url, 'GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n'), '')
    assert.equal(await exchange(server.url, 'GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n'), '')
    assert.equal(lines.filter((line) => line.includes('server.connectionsMax')).length, 1)
    first.destroy()
  })

  test('headers beyond 16 KiB get 431 and a body beyond 64 KiB 413, in the error format of the group', async () => {
    await using server = await openTestServer()
    const headers = { 'x-padding': 'a'.repeat(20_000) }
    const heavy = await fetch(`${server.url}/v0/eth/validators/1`, { headers })
    assert.equal(heavy.status, 431)
    assert.equal(await codeOf(heavy), 'input.headers_too_large')
    const body = JSON.stringify({ from: 'a'.repeat(70_000) })
    const large = await fetch(`${server.url}/v1/exchange/fx/quotes`, {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json' },
    })
    assert.equal(large.status, 413)
    assert.deepEqual(await large.json(), { group: 'fx', code: 'body.too_large' })
  })

  test('a client that sends its request too slowly is disconnected', async () => {
    await using server = await openTestServer({ server: { headersTimeoutMs: 300, requestTimeoutMs: 600 } })
    const { hostname, port } = new URL(server.url)
    const socket = connect(Number(port), hostname)
    const drip = setInterval(() => socket.write('x'), 100)
    socket.write('GET /markets/slug/a HTTP/1.1\r\nx-')
    let heard = ''
    socket.on('data', (bytes) => {
      heard += bytes
    })
    socket.on('error', () => {})
    await new Promise((resolve) => socket.on('close', resolve))
    clearInterval(drip)
    assert.match(heard, /^HTTP\/1\.1 408 /)
  })

  test('invalid HTTP gets 400 and the connection is closed', async () => {
    await using server = await openTestServer()
    const { hostname, port } = new URL(server.url)
    const socket = connect(Number(port), hostname)
    socket.end('\x16\x03\x01 not http\r\n\r\n')
    let heard = ''
    socket.on('data', (bytes) => {
      heard += bytes
    })
    await new Promise((resolve) => socket.on('close', resolve))
    assert.match(heard, /^HTTP\/1\.1 400 [\s\S]*\r\nx-tetrad-fault: request\.malformed\r\n/)
  })

  test('a caller that disconnects is counted as client_gone and not logged as a failure', async () => {
    const arrived = Promise.withResolvers<void>()
    const lines: string[] = []
    await using server = await openTestServer(
      {},
      {
        lines,
        // Like a query that waits for a connection.
        reply: ({ signal }) =>
          new Promise((_, reject) => {
            signal?.addEventListener('abort', () => reject(signal.reason))
            arrived.resolve()
          }),
      },
    )
    const hangUp = new AbortController()
    const gone = fetch(`${server.url}/markets/slug/a`, { signal: hangUp.signal })
    await arrived.promise
    hangUp.abort()
    await assert.rejects(gone)
    while (server.counted.length === 0) await new Promise((resolve) => setImmediate(resolve))
    assert.deepEqual(server.counted, ['markets.bySlug client_gone'])
    assert.ok(!lines.some((line) => line.includes('request failed')), lines.join(''))
  })

  test('a reset connection and an aborted upload are counted as client_gone', async () => {
    const lines: string[] = []
    await using server = await openTestServer({}, { lines })
    const { hostname, port } = new URL(server.url)
    const counted = async (count: number) => {
      while (server.counted.length < count) await new Promise((resolve) => setImmediate(resolve))
    }
    const reset = connect(Number(port), hostname)
    await once(reset, 'connect')
    reset.write('GET /v0/eth/validators/1 HTTP/1.1\r\nhost: x\r\n\r\n')
    reset.resetAndDestroy()
    await counted(1)
    const upload = connect(Number(port), hostname)
    upload.write(
      'POST /v1/exchange/fx/quotes HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{',
    )
    await once(upload, 'connect')
    await new Promise((resolve) => setImmediate(resolve))
    upload.destroy()
    await counted(2)
    assert.deepEqual(server.counted, ['none client_gone', 'none client_gone'])
    assert.ok(!lines.some((line) => /unexpected failure|server\.internal/.test(line)), lines.join(''))
  })

  test('a request beyond the time limit gets server.timeout', async () => {
    await using server = await openTestServer(
      { server: { responseTimeoutMs: 100, stopTimeoutMs: 0 } },
      { reply: () => new Promise(() => {}) },
    )
    const response = await fetch(`${server.url}/markets/slug/a`)
    assert.equal(response.status, 504)
    assert.equal(await codeOf(response), 'server.timeout')
  })
})

describe('headers', () => {
  test('a valid request id of the caller is kept, otherwise a new one is used', async () => {
    await using server = await openTestServer()
    const ask = (id: string) => fetch(`${server.url}/markets/slug/a`, { headers: { 'x-request-id': id } })
    assert.equal((await ask('mine-1')).headers.get('x-request-id'), 'mine-1')
    const first = (await ask('has space')).headers.get('x-request-id')
    const second = (await ask('a'.repeat(129))).headers.get('x-request-id')
    assert.match(first ?? '', /^[\w-]+$/)
    assert.notEqual(first, second)
  })

  test('cross-origin requests are allowed, and preflight requests answered', async () => {
    await using server = await openTestServer()
    const read = await fetch(`${server.url}/markets/slug/a`, { headers: { origin: 'https://other.example' } })
    assert.equal(read.headers.get('access-control-allow-origin'), '*')
    assert.match(read.headers.get('access-control-expose-headers') ?? '', /\bx-tetrad-fault\b/)
    const before = await fetch(`${server.url}/v0/eth/validators/1`, {
      method: 'OPTIONS',
      headers: { origin: 'https://x' },
    })
    assert.equal(before.status, 204)
    const allowed = new Set(before.headers.get('access-control-allow-headers')?.split(', '))
    const needed = Object.values(allRoutes).flatMap(({ headers = {} }) => Object.values(headers))
    assert.deepEqual(
      ['authorization', 'content-type', ...needed].filter((name) => !allowed.has(name)),
      [],
    )
    await using closed = await openTestServer({ server: { cors: false } })
    assert.equal((await fetch(`${closed.url}/markets/slug/a`)).headers.get('access-control-allow-origin'), null)
    const refused = await fetch(`${closed.url}/markets/slug/a`, { method: 'OPTIONS' })
    assert.deepEqual([refused.status, refused.headers.get('allow')], [405, 'GET, HEAD'])
  })

  test('an unknown expect header is ignored, and the response has a request id', async () => {
    await using server = await openTestServer()
    const head = 'GET /markets/slug/a HTTP/1.1\r\nhost: x\r\nexpect: the-unexpected\r\nconnection: close\r\n\r\n'
    assert.match(await exchange(server.url, head), /^HTTP\/1\.1 200 [\s\S]*\r\nx-request-id: /)
  })

  test('every response has security headers, including errors', async () => {
    await using server = await openTestServer()
    for (const path of ['/markets/slug/a', '/nowhere', '/healthz', '/markets/slug/a%20b']) {
      const response = await fetch(server.url + path)
      assert.equal(response.headers.get('x-content-type-options'), 'nosniff', path)
      assert.equal(response.headers.get('referrer-policy'), 'no-referrer', path)
      assert.ok(response.headers.get('content-security-policy'), path)
      assert.ok(response.headers.get('x-request-id'), path)
    }
  })
})

describe('errors', () => {
  test('an unexpected error is a 500 and one log line with the request id, without stack, path or key', async () => {
    const lines: string[] = []
    const key = 'tetrad:abc:verysecretsecret'
    await using server = await openTestServer(
      {},
      {
        lines,
        reply: async () => {
          throw new Error(`broken at /home/someone/secret/file.ts with ${key}`)
        },
      },
    )
    const response = await fetch(`${server.url}/v2/api?module=account&action=fundedby&address=0x1&apikey=${key}`, {
      headers: { 'x-request-id': 'find-me' },
    })
    assert.equal(await codeOf(response), 'server.internal')
    const shouted = lines.filter((line) => line.includes('unexpected failure'))
    assert.equal(shouted.length, 1)
    assert.match(shouted[0] ?? '', /"requestId":"find-me"/)
    assert.match(shouted[0] ?? '', /"location":"server\/http\/http-server\.test\.ts:\d+"/)
    for (const line of lines) {
      assert.doesNotMatch(line, /verysecret/)
      assert.doesNotMatch(line, /\/home\/someone|node_modules|\bat .*\(/)
    }
  })

  test('authorization errors have the format of the group and are counted by code', async () => {
    const authorizer: Authorizer = {
      ...everyone,
      authorize: async () => {
        throw new Fault('key.missing')
      },
    }
    await using server = await openTestServer({}, { authorizer })
    const response = await fetch(`${server.url}/v0/eth/validators/1`)
    assert.equal(response.status, 401)
    assert.equal(response.headers.get('www-authenticate'), 'Bearer')
    assert.equal(response.headers.get('x-tetrad-fault'), 'key.missing')
    assert.equal((await fetch(`${server.url}/nowhere`)).headers.get('x-tetrad-fault'), 'route.unknown')
    assert.deepEqual(server.counted, ['validators.metadata key.missing', 'none route.unknown'])
  })

  test('the body of a caller without a key is not checked', async () => {
    const authorizer: Authorizer = {
      ...everyone,
      authorize: async () => {
        throw new Fault('key.missing')
      },
    }
    await using server = await openTestServer({}, { authorizer })
    const response = await fetch(`${server.url}/v1/exchange/fx/quotes`, { method: 'POST', body: '{' })
    assert.equal(response.status, 401)
  })
})

describe('closing', () => {
  async function untilRefused(port: number): Promise<void> {
    for (;;) {
      const socket = connect(port, '127.0.0.1')
      try {
        await once(socket, 'connect')
      } catch {
        return
      } finally {
        socket.destroy()
      }
    }
  }

  test('requests in flight finish and new connections are refused', async () => {
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    let entered = () => {}
    const inside = new Promise<void>((resolve) => {
      entered = resolve
    })
    const server = await openTestServer(
      {},
      {
        reply: async () => {
          entered()
          await held
        },
      },
    )
    const flying = fetch(`${server.url}/markets/slug/a`)
    await inside
    const closed = server[Symbol.asyncDispose]()
    await untilRefused(Number(new URL(server.url).port))
    release()
    assert.equal((await flying).status, 200)
    await closed
  })

  test('a server starts if the headers may take longer than the request', async () => {
    await using server = await openTestServer({ server: { headersTimeoutMs: 40_000, requestTimeoutMs: 30_000 } })
    assert.equal((await fetch(`${server.url}/markets/slug/a`)).status, 200)
  })

  test('a request that never ends is aborted after stopTimeoutMs', async () => {
    const server = await openTestServer({ server: { stopTimeoutMs: 100 } }, { reply: () => new Promise(() => {}) })
    const flying = fetch(`${server.url}/markets/slug/a`)
    const outcome = assert.rejects(flying)
    await new Promise((resolve) => setTimeout(resolve, 50))
    await server[Symbol.asyncDispose]()
    await outcome
  })
})

describe('behind proxies', () => {
  test('the caller is the address that the outermost own proxy saw; the rest of the header is ignored', async () => {
    const seen: string[] = []
    const authorizer: Authorizer = {
      ...everyone,
      authorize: async (_handler, credentials) => {
        seen.push(credentials.address)
        return { keyId: 'test', plan: 'enterprise' }
      },
    }
    await using direct = await openTestServer({}, { authorizer })
    await using behindOne = await openTestServer({ server: { proxyHops: 1 } }, { authorizer })
    const headers = { 'x-forwarded-for': '10.0.0.1, 203.0.113.7' }
    await fetch(`${direct.url}/markets/slug/a`, { headers })
    await fetch(`${behindOne.url}/markets/slug/a`, { headers })
    assert.deepEqual(seen, ['127.0.0.1', '203.0.113.7'])
  })

  test('x-forwarded-for without proxyHops logs a warning once an hour', async () => {
    const lines: string[] = []
    await using direct = await openTestServer({}, { lines })
    const headers = { 'x-forwarded-for': '203.0.113.7' }
    for (let call = 0; call < 3; call++) await fetch(`${direct.url}/markets/slug/a`, { headers })
    assert.equal(lines.filter((line) => line.includes('server.proxyHops')).length, 1)
    const none: string[] = []
    await using behindOne = await openTestServer({ server: { proxyHops: 1 } }, { lines: none })
    await fetch(`${behindOne.url}/markets/slug/a`, { headers })
    assert.deepEqual(none, [])
  })
})

describe('links', () => {
  const originFor = async (server: Awaited<ReturnType<typeof openTestServer>>, host: string) => {
    const heard = await exchange(
      server.url,
      `GET /markets/slug/a HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`,
    )
    return heard.match(/^x-origin: (.*)\r$/m)?.[1]
  }

  test('use the Host header only if it is an IP address, localhost or a configured name', async () => {
    const lines: string[] = []
    await using server = await openTestServer({ groups: { fx: { host: 'fx.example' } } }, { lines, showOrigin: true })
    for (const host of ['localhost:9999', '192.0.2.7:80', '[2001:db8::1]:80', 'FX.example', '192.0.2.7']) {
      assert.equal(await originFor(server, host), `http://${host}`)
    }
    assert.equal(lines.length, 0)
    for (const host of ['evil.example', '192.0.2.7:80:90', 'a@192.0.2.7', 'x/y', '']) {
      assert.equal(await originFor(server, host), server.url, host)
    }
    assert.equal(lines.filter((line) => line.includes('server.publicUrl')).length, 1)
    await using named = await openTestServer({ server: { publicUrl: 'https://data.example' } }, { showOrigin: true })
    assert.equal(await originFor(named, 'localhost'), 'https://data.example')
  })
})

describe('logs and metrics', () => {
  test('of one network, at most 100 refused requests are logged within a minute', async () => {
    const lines: string[] = []
    const clock = new ManualClock(testNowMs)
    await using server = await openTestServer({}, { lines, clock })
    const call = async (remoteAddress: string, count: number) => {
      for (let at = 0; at < count; at++) await inject(server.httpServer, { url: `/unknown/${at}`, remoteAddress })
    }
    const countLines = (text: string) => lines.filter((line) => line.includes(text)).length
    await call('2001:db8::1', 90)
    await call('2001:db8::2', 30)
    assert.equal(countLines('"msg":"request"'), 100)
    await call('192.0.2.1', 5)
    assert.equal(countLines('"msg":"request"'), 105)
    assert.equal(countLines('failed requests are not logged'), 1)
    clock.advance(60_000)
    await call('2001:db8::1', 101)
    assert.equal(countLines('"msg":"request"'), 205)
    assert.match(lines.at(-1) ?? '', /"count":20,/)
    assert.equal(server.counted.length, 226)
  })

  const openLogInto = (lines: string[]) => {
    const log = openLog('info', (line) => lines.push(line))
    const context = { settings: settingsWith({}), log, clock: new ManualClock(testNowMs) }
    return openRequestLog(context as unknown as Context)
  }

  test('requests that callers gave up are limited like refused ones', () => {
    const lines: string[] = []
    const requestLog = openLogInto(lines)
    const request = { requestId: 'a', path: '/', address: undefined }
    for (let count = 0; count < 150; count++) logRequest(requestLog, request, { status: 503, outcome: 'client_gone' })
    assert.equal(lines.filter((line) => line.includes('"msg":"request"')).length, 100)
    logRequest(requestLog, request, { status: 503, outcome: 'store.unavailable' })
    assert.match(lines.at(-1) ?? '', /store\.unavailable/)
  })

  test('errors of the server are limited for all networks together', () => {
    const lines: string[] = []
    const requestLog = openLogInto(lines)
    for (let count = 0; count < 150; count++) {
      const request = { requestId: 'a', path: '/', address: `192.0.2.${count}` }
      logRequest(requestLog, request, { status: 503, outcome: 'store.unavailable' })
    }
    assert.equal(lines.filter((line) => line.includes('"msg":"request"')).length, 100)
    assert.equal(lines.filter((line) => line.includes('failed requests are not logged')).length, 1)
  })

  test('keys in paths and request ids are removed from the log, also if percent-encoded', async () => {
    const lines: string[] = []
    await using server = await openTestServer({ log: { requests: 'all' } }, { lines })
    await fetch(`${server.url}/markets/slug/tetrad%3Ademo%3Averysecretsecret`)
    await fetch(`${server.url}/markets/slug/te%74rad%3ademo%253averysecretsecret%ff`)
    await fetch(`${server.url}/nowhere/tetrad:demo:verysecretsecret`, {
      headers: { 'x-request-id': 'tetrad:demo:verysecretsecret' },
    })
    assert.equal(lines.filter((line) => line.includes('"msg":"request"')).length, 3)
    for (const line of lines) assert.doesNotMatch(line, /verysecret/)
  })

  test('every refusal is logged and counted, without a duration', async () => {
    const lines: string[] = []
    await using server = await openTestServer({}, { lines })
    await fetch(`${server.url}/nowhere`)
    await fetch(`${server.url}/markets/slug/a`, { method: 'PUT' })
    await fetch(`${server.url}/markets/slug/a?x=${'y'.repeat(17_000)}`)
    assert.deepEqual(server.counted, ['none route.unknown', 'none route.method', 'none input.url_too_long'])
    assert.equal(lines.length, 3)
  })

  test('a failing database is logged once with its file, and every call has its own line', async () => {
    const lines: string[] = []
    const detail = '/var/lib/tetrad/state.sqlite cannot grow because the disk is full'
    const reply = () => Promise.reject(new Fault('store.unavailable', { detail }))
    await using server = await openTestServer({}, { lines, reply })
    for (let call = 0; call < 5; call += 1) await fetch(`${server.url}/markets/slug/a`)
    const failures = lines.filter((line) => line.includes('"msg":"request failed"'))
    assert.equal(failures.length, 1)
    assert.ok(failures[0]?.includes(detail))
    assert.equal(lines.filter((line) => line.includes('"outcome":"store.unavailable"')).length, 5)
  })

  test('the error of a node is in the log line of the request and not in the response', async () => {
    const lines: string[] = []
    const detail = 'http://node.test: eth_getBalance: header not found'
    const reply = () => Promise.reject(new Fault('explorer.node_unavailable', { detail }))
    await using server = await openTestServer({}, { lines, reply })
    const response = await fetch(`${server.url}/markets/slug/a`)
    assert.doesNotMatch(await response.text(), /header not found/)
    const [request] = lines.filter((line) => line.includes('"msg":"request"'))
    assert.equal(JSON.parse(request ?? '').reason, detail)
  })

  test('every kind of success is `ok` in the log and in the metrics', async () => {
    const lines: string[] = []
    await using server = await openTestServer({ log: { requests: 'all' } }, { lines })
    await fetch(`${server.url}/markets/slug/a`)
    assert.deepEqual(server.counted, ['markets.bySlug ok'])
    assert.equal(JSON.parse(lines[0] ?? '').outcome, 'ok')
  })

  test('a path parameter that is too long gets 414', async () => {
    await using server = await openTestServer()
    assert.equal((await fetch(`${server.url}/v0/eth/validators/${'1'.repeat(17_000)}`)).status, 414)
  })
})
