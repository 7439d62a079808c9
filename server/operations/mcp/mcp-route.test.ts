// Tests /mcp with the client of the protocol's own package, over HTTP.
import assert from 'node:assert/strict'
import { registerHooks } from 'node:module'
import { after, before, describe, test } from 'node:test'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { contract } from '#api/contract/contract.ts'
import { extensions } from '#api/contract/extensions.ts'
import type { Plan } from '#api/contract/routes.ts'
import { type Clock, systemClock } from '#runtime/clock.ts'
import { makeKey, wrongSecret } from '#test/authorization.ts'
import { type DemoServer, openDemoServer } from '#test/demo-server.ts'
import { openEmptyServer } from '#test/empty-server.ts'
import { inject } from '#test/inject.ts'

const revisions = { '2026-07-28': { pin: '2026-07-28' }, 'before 2026': 'legacy' } as const
type Revision = keyof typeof revisions

async function connect(url: string, key?: string, revision: Revision = '2026-07-28'): Promise<Client> {
  const mode = revisions[revision]
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
  const headers: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` }
  await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', url), { requestInit: { headers } }))
  return client
}

const textsOf = ({ content }: { content: readonly object[] }): string[] =>
  content.map((part) => (part as { text: string }).text)

const jsonHeaders = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

const post = ({ server }: Pick<DemoServer, 'server'>, payload: unknown, headers: Record<string, string> = {}) =>
  inject(server, {
    method: 'POST',
    url: '/mcp',
    headers: { ...jsonHeaders, ...headers },
    payload: typeof payload === 'string' ? payload : JSON.stringify(payload),
  })

const listTools = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }

test('the first message loads no code', async () => {
  await using server = await openEmptyServer({ mcp: { enabled: true } })
  const loaded: string[] = []
  const hooks = registerHooks({
    load: (url, context, next) => {
      loaded.push(url)
      return next(url, context)
    },
  })
  try {
    assert.equal((await post({ server }, listTools)).statusCode, 200)
  } finally {
    hooks.deregister()
  }
  assert.deepEqual(loaded, [])
})

describe('MCP over HTTP', () => {
  let demo: DemoServer
  before(async () => {
    demo = await openDemoServer({
      mcp: { enabled: true },
      log: { requests: 'all', level: 'debug' },
      plans: { free: { perSecond: 0, perDay: 2 } },
    })
  })
  after(() => demo[Symbol.asyncDispose]())

  for (const revision of Object.keys(revisions) as Revision[]) {
    test(`a client lists and calls tools and reads guides (revision ${revision})`, async () => {
      const client = await connect(demo.url, demo.key, revision)
      const { tools } = await client.listTools()
      const readable = [...Object.values(contract), ...Object.values(extensions)].filter(
        (endpoint) => endpoint.method === 'GET' && !('stream' in endpoint),
      )
      assert.deepEqual(
        tools.map(({ name }) => name),
        readable.map(({ id }) => id.replace('.', '_')),
      )
      const { address, badDay, slug } = demo.samples
      const validator_index_or_pubkey = String(badDay.index)
      for (const [name, input] of [
        ['explorer_fundedBy', { chainid: '1', address }],
        ['explorer_trail', { chainid: '1', address }],
        ['validators_metadata', { validator_index_or_pubkey }],
        ['validators_explain', { validator_index_or_pubkey, fromDay: badDay.day, toDay: badDay.day }],
        ['markets_bySlug', { slug }],
        ['markets_search', { q: slug.split('-')[0] }],
        ['markets_changesBySlug', { slug }],
      ] as const) {
        const result = await client.callTool({ name, arguments: input })
        assert.notEqual(result.isError, true, `${name}: ${textsOf(result)}`)
        JSON.parse(textsOf(result)[0] ?? '')
      }
      const { contents } = await client.readResource({ uri: 'tetrad://docs/explorer.md' })
      assert.match((contents[0] as { text: string }).text, /^# /)
      await client.close()
    })
  }

  test('a tool returns what the endpoint returns', async () => {
    const client = await connect(demo.url)
    const { slug } = demo.samples
    const result = await client.callTool({ name: 'markets_bySlug', arguments: { slug } })
    await client.close()
    const direct = await inject(demo.server, { url: `/markets/slug/${slug}` })
    assert.deepEqual(JSON.parse(textsOf(result)[0] ?? ''), direct.json())
  })

  test('calls need the key of the endpoint, and wrong keys and inputs are tool errors', async () => {
    const input = { validator_index_or_pubkey: '1' }
    for (const [key, name, given, expected] of [
      [undefined, 'validators_metadata', input, /validators\.metadata: Not authenticated/],
      ['tetrad:no:such', 'validators_metadata', input, /Could not validate access token/],
      [undefined, 'explorer_fundedBy', { chainid: '1', address: demo.samples.address }, /API Key/],
      [demo.key, 'markets_bySlug', { slug: 'no-such-market' }, /not found/],
      [demo.key, 'markets_bySlug', { slug: 'a', when: 'now' }, /additional properties/],
    ] as const) {
      const client = await connect(demo.url, key)
      const result = await client.callTool({ name, arguments: given })
      await client.close()
      assert.equal(result.isError, true)
      assert.match(textsOf(result).join(), expected)
    }
  })

  test('calls count for the limits of the key; other messages do not', async () => {
    const client = await connect(demo.url, await demo.keyFor('free'))
    for (let count = 0; count < 5; count++) await client.listTools()
    const call = () => client.callTool({ name: 'markets_bySlug', arguments: { slug: demo.samples.slug } })
    const results = [await call(), await call(), await call()]
    await client.close()
    assert.deepEqual(
      results.map(({ isError = false }) => isError),
      [false, false, true],
    )
    assert.match(textsOf(results[2] as never).join(), /daily call limit/)
  })

  test('a key appears neither in the log nor in a response', async () => {
    const key = await demo.keyFor('standard')
    const client = await connect(demo.url, key)
    await client.callTool({ name: 'explorer_fundedBy', arguments: { chainid: '1', address: demo.samples.address } })
    const failed = await client.callTool({ name: 'markets_bySlug', arguments: { slug: key } })
    await client.close()
    const secret = key.split(':')[2] as string
    assert.ok(!textsOf(failed).join().includes(secret))
    assert.ok(demo.lines.some((line) => line.includes('"/mcp"')))
    assert.ok(demo.lines.some((line) => line.includes('"explorer.fundedBy"')))
    assert.deepEqual(
      demo.lines.filter((line) => line.includes(secret)),
      [],
    )
  })

  test('a page of another origin is refused', async () => {
    const foreign = await post(demo, listTools, { origin: 'http://evil.example', host: 'evil.example' })
    assert.equal(foreign.statusCode, 403)
    const sameOrigin = await post(demo, listTools, { origin: 'http://localhost:8080', host: 'localhost:8080' })
    assert.equal(sameOrigin.statusCode, 200)
    assert.equal(sameOrigin.headers['access-control-allow-origin'], undefined)
  })

  test('bodies that are too large, not JSON, or a batch are refused', async () => {
    const { slug } = demo.samples
    const large = { ...listTools, params: { name: 'x'.repeat(demo.server.context.settings.server.bodyBytesMax) } }
    for (const [payload, headers, status] of [
      [large, {}, 413],
      ['{', {}, 400],
      [[listTools, listTools], {}, 400],
      [listTools, { 'content-type': 'text/plain' }, 415],
      [{ ...listTools, method: 'tools/call', params: { name: 'markets_bySlug', arguments: { slug } } }, {}, 200],
    ] as const)
      assert.equal((await post(demo, payload, headers)).statusCode, status)
  })

  test('a message with many members, many lists or deeply nested values is refused before it is answered', async () => {
    const members = Object.fromEntries(Array.from({ length: 65 }, (_, at) => [`m${at}`, 1]))
    const call = (given: object) => ({
      ...listTools,
      method: 'tools/call',
      params: { name: 'markets_bySlug', ...given },
    })
    const nested = '['.repeat(20_000) + ']'.repeat(20_000)
    for (const message of [
      JSON.stringify(call({ arguments: { slug: 0 } })).replace('"slug":0', `"slug":${nested}`),
      { ...listTools, ...members },
      { ...listTools, params: members },
      call({ arguments: members }),
      call({ arguments: { slug: [[members]] } }),
      call({ arguments: { slug: Array(20_000).fill([]) } }),
    ]) {
      const response = await post(demo, message)
      assert.equal(response.statusCode, 400)
      assert.equal(response.json().error.code, 'input.invalid')
    }
  })

  test('there are no sessions and no streams', async () => {
    for (const method of ['GET', 'DELETE'] as const) {
      const response = await inject(demo.server, { method, url: '/mcp', headers: { accept: 'text/event-stream' } })
      assert.equal(response.statusCode, 405)
      assert.equal(response.headers.allow, 'POST')
    }
    const initialize = {
      ...listTools,
      method: 'initialize',
      params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
    }
    const response = await post(demo, initialize)
    assert.equal(response.statusCode, 200)
    assert.equal(response.headers['mcp-session-id'], undefined)
    const envelope = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    }
    const listen = await post(
      demo,
      { ...listTools, method: 'subscriptions/listen', params: { notifications: {}, _meta: envelope } },
      { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'subscriptions/listen' },
    )
    assert.match(listen.body, /Subscription limit reached/)
  })
})

describe('limits of messages', () => {
  const callTool = (name: string) => ({
    ...listTools,
    method: 'tools/call',
    params: { name, arguments: { slug: 'a' } },
  })

  /** A server that accepts two messages of a caller, and a third one when `sendAll` is done. */
  async function openServer() {
    let stoppedMs: number | undefined
    const clock: Clock = Object.assign(Object.create(systemClock), {
      monotonicMs: () => stoppedMs ?? systemClock.monotonicMs(),
    })
    const overrides = {
      mcp: { enabled: true },
      server: { port: 0, anonymousPerSecond: 2 },
      plans: { free: { perSecond: 1, perDay: 0 }, lite: { perSecond: 3, perDay: 0 } },
    }
    const server = await openEmptyServer(overrides, clock)
    return {
      keyFor: async (plan: Plan) => (await makeKey(server.context, plan)).key,
      async sendAll(messages: readonly object[], key?: string) {
        stoppedMs ??= systemClock.monotonicMs()
        const responses = []
        for (const message of messages)
          responses.push(await post({ server }, message, key === undefined ? {} : { authorization: `Bearer ${key}` }))
        assert.ok(responses.every(({ statusCode, headers }) => statusCode !== 429 || headers['retry-after'] === '1'))
        return responses.map(({ statusCode }) => statusCode)
      },
      async [Symbol.asyncDispose]() {
        stoppedMs = undefined
        await server[Symbol.asyncDispose]()
      },
    }
  }

  for (const [name, key] of [
    ['without a key', undefined],
    ['with a wrong key', `tetrad:nobody:${wrongSecret}`],
  ] as const)
    test(`messages ${name} are limited by network address, whatever they call`, async () => {
      for (const message of [listTools, callTool('markets_bySlug'), callTool('none')]) {
        await using server = await openServer()
        assert.deepEqual(await server.sendAll([message, message, message], key), [200, 200, 429])
      }
    })

  test('messages with a valid key are limited by key, to the calls of its plan if these are more', async () => {
    await using server = await openServer()
    const call = callTool('none')
    assert.deepEqual(await server.sendAll([listTools, listTools, listTools]), [200, 200, 429])
    assert.deepEqual(await server.sendAll([call, listTools, call], await server.keyFor('free')), [200, 200, 429])
    const four = [call, call, listTools, call]
    assert.deepEqual(await server.sendAll(four, await server.keyFor('lite')), [200, 200, 200, 429])
    assert.deepEqual(await server.sendAll(four, await server.keyFor('enterprise')), [200, 200, 200, 200])
  })
})

test('only tools of groups that this host name serves are listed', async () => {
  await using server = await openEmptyServer({
    mcp: { enabled: true },
    groups: { fx: { enabled: false }, markets: { host: 'markets.example' } },
  })
  const groupsFor = async (host: string) => {
    const { body } = await post({ server }, listTools, { host })
    return [...new Set([...body.matchAll(/"name":"(\w+)_/g)].map(([, group]) => group))]
  }
  assert.deepEqual(await groupsFor('localhost'), ['explorer', 'validators'])
  assert.deepEqual(await groupsFor('markets.example:8080'), ['explorer', 'validators', 'markets'])
})

test('the path does not exist unless it is enabled', async () => {
  await using server = await openEmptyServer()
  assert.equal((await post({ server }, listTools)).statusCode, 404)
})
