// The typed client against the real server over HTTP, for every endpoint, extensions included. An endpoint without a call
// here does not compile.

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { brotliDecompressSync } from 'node:zlib'
import { type Client, createClient, type InputOf, type PagedId } from '#api/client/client.ts'
import { pagedEndpoints } from '#api/client/pages.ts'
import { contract } from '#api/contract/contract.ts'
import { extensions } from '#api/contract/extensions.ts'
import type { Endpoint } from '#api/contract/kit.ts'
import { openapi } from '#api/contract/openapi.ts'
import { headers as documentedHeaders } from '#api/contract/openapi-responses.ts'
import type { AnyId } from '#api/contract/routes.ts'
import { networks } from '#api/contract/wire/networks.ts'
import { checker } from '#core/schema-check.ts'
import { type DemoServer, openDemoServer } from './demo-server.ts'
import { createCalls, createDemoQuote, withPushSource } from './endpoint-calls.ts'
import { inject } from './inject.ts'
import { storedRows } from './stored-duties.ts'

let world: DemoServer
let client: Client
let calls: ReturnType<typeof createCalls>
let lastResponse: Response

before(async () => {
  world = await openDemoServer(withPushSource)
  const fetchAndKeep = async (url: string | URL | Request, init?: RequestInit) => {
    lastResponse = await fetch(url, init)
    return lastResponse
  }
  client = createClient({
    baseUrl: world.url,
    key: await world.keyFor('enterprise', { admin: true }),
    fetch: fetchAndKeep,
  })
  calls = createCalls(client, world)
})
after(() => world[Symbol.asyncDispose]())

const triesMax = 10

/** The markets of the demo change at any time, so a difference counts only if it remains. */
async function expectSameRecords(
  readWhole: () => Promise<readonly unknown[]>,
  readPages: () => Promise<readonly unknown[]>,
  name: string,
): Promise<void> {
  for (let tries = 1; ; tries++) {
    const [whole, visited] = [await readWhole(), await readPages()]
    if (isDeepStrictEqual(visited, whole)) return
    if (tries === triesMax) assert.deepEqual(visited, whole, name)
  }
}

const endpoints: Readonly<Record<AnyId, Endpoint>> = { ...contract, ...extensions }

/** Headers that the OpenAPI document describes for some endpoint but not for this one. */
function undocumentedHeaders({ path, method }: Endpoint, { headers }: Response): string[] {
  const operation = (openapi().paths[path] as Record<string, Operation>)[method.toLowerCase()]
  const documented = operation?.responses[200].headers ?? {}
  return Object.keys(documentedHeaders).filter((name) => headers.has(name) && !(name in documented))
}

interface Operation {
  readonly responses: { readonly 200: { readonly headers: object } }
}

describe('round trip', () => {
  for (const id of Object.keys(endpoints) as AnyId[]) {
    test(`${id}: reply and headers are those of the contract`, async () => {
      const reply = await calls[id]()
      assert.deepEqual(checker(endpoints[id].reply)(reply), [])
      assert.equal(lastResponse.status, 200)
      assert.deepEqual(undocumentedHeaders(endpoints[id], lastResponse), [])
      if (endpoints[id].etag) assert.match(lastResponse.headers.get('etag') ?? '', /^(W\/)?"[^"]+"$/)
    })
  }

  test('a path with two methods has an endpoint for each, and the refusal of another names both', async () => {
    const wrong = await fetch(`${world.url}/v1/exchange/fx/quotes`, { method: 'DELETE' })
    assert.deepEqual([wrong.status, wrong.headers.get('allow')], [405, 'POST, GET, HEAD, OPTIONS'])
    const preflight = await fetch(`${world.url}/v1/exchange/fx/quotes`, { method: 'OPTIONS' })
    assert.equal(preflight.headers.get('access-control-allow-methods'), 'POST, GET, HEAD')
    assert.deepEqual(Object.keys(openapi().paths['/v1/exchange/fx/quotes'] ?? {}), ['post', 'get'])
  })

  test('/openapi.json is one document for all callers, with an etag', async () => {
    const read = (headers: Record<string, string>) => inject(world.server, { url: '/openapi.json', headers })
    const plain = await read({ host: 'localhost:9999' })
    assert.deepEqual(plain.json(), openapi({ serverUrl: world.url, networks }))
    assert.equal(plain.headers['cache-control'], 'no-cache')
    const other = await read({ host: '192.0.2.7' })
    assert.equal(other.headers.etag, plain.headers.etag)
    const compressed = await read({ 'accept-encoding': 'br' })
    assert.equal(brotliDecompressSync(compressed.rawPayload).toString(), plain.body)
    const etag = String(compressed.headers.etag)
    const unchanged = await read({ 'accept-encoding': 'br', 'if-none-match': etag })
    assert.deepEqual([unchanged.statusCode, unchanged.body, unchanged.headers.etag], [304, '', etag])
  })

  test('/markets/{id} answers HEAD and 304 like the slug, and fixed paths take precedence', async () => {
    const { id = '' } = await client.markets.bySlug({ slug: world.samples.slug })
    const head = await fetch(`${world.url}/markets/${id}`, { method: 'HEAD' })
    assert.equal(head.status, 200)
    const etag = head.headers.get('etag') ?? ''
    assert.equal(etag, (await fetch(`${world.url}/markets/slug/${world.samples.slug}`)).headers.get('etag'))
    const unchanged = await fetch(`${world.url}/markets/${id}`, { headers: { 'if-none-match': etag } })
    assert.equal(unchanged.status, 304)
    for (const [path, status, body] of [
      ['search', 200, /"markets":/],
      ['changes', 200, /"changes":/],
      ['no-such-id', 404, /"id not found"/],
      ['no%20id', 422, /"id is invalid"/],
      ['%zz', 422, /"id is invalid"/],
    ] as const) {
      const response = await fetch(`${world.url}/markets/${path}`)
      assert.equal(response.status, status, path)
      assert.match(await response.text(), body)
    }
    await assert.rejects(client.markets.byId({ id: 'no-such-id' }), { status: 404, notFound: true })
  })

  test('4.5: the iterator visits every record once, in order, whatever the page size', async () => {
    const indices = [...world.samples.indices]
    const input = { indices, granularity: 'week', groupBy: 'validator' } as const
    const whole = await client.validators.aggregateEffectiveness({ ...input, size: 1000 })
    assert.ok(whole.total > 5)
    const walked: unknown[] = []
    for await (const record of client.call('validators.aggregateEffectiveness', { ...input, size: 2 }).records())
      walked.push(record)
    assert.deepEqual(walked, whole.data)
    assert.equal(walked.length, whole.total)
  })

  test('4.6: the iterator visits every record once, in order, whatever the page size', async () => {
    const input = { validator_index_or_pubkey: String(world.samples.indices[0]) }
    const whole = await client.validators.effectiveness({ ...input, limit: 1000 })
    assert.equal(whole.pages, 1)
    const walked: unknown[] = []
    for await (const record of client.call('validators.effectiveness', { ...input, limit: 7 }).records())
      walked.push(record)
    assert.deepEqual(walked, whole.results)
    const stored = await storedRows(world.server.context, 'mainnet', 'days')
    const expected = stored.filter(({ validator }) => validator === Number(input.validator_index_or_pubkey))
    assert.equal(walked.length, expected.length)
    assert.ok(walked.length > 30)
  })

  test('markets and events: the iterators visit every record of the list once, in order', async () => {
    assert.ok((await client.markets.list({ order: 'endDate', limit: 500 })).length > 20)
    await expectSameRecords(
      () => client.markets.list({ order: 'endDate', limit: 500 }),
      () => Array.fromAsync(client.call('markets.listKeyset', { order: 'endDate', limit: 20 }).records()),
      'markets',
    )
    await expectSameRecords(
      () => client.markets.events({ limit: 100 }),
      () => Array.fromAsync(client.call('markets.eventsKeyset', { limit: 5 }).records()),
      'events',
    )
  })

  test('every other list: the iterator visits every record once, in order, whatever the page size', async () => {
    for (let count = 0; count < 3; count++) await createDemoQuote(client)
    const { index, day } = world.samples.badDay
    const one = { validator_index_or_pubkey: index }
    const pool = world.samples.pools[0] ?? ''
    const { slug } = world.samples
    const lists: { readonly [Id in PagedId]?: { input: InputOf<Id>; size: keyof InputOf<Id>; of: [number, number] } } =
      {
        'fx.quotes': { input: {}, size: 'limit', of: [2, 100] },
        'validators.explain': { input: { ...one, fromDay: day - 5, toDay: day }, size: 'limit', of: [2, 100] },
        'validators.list': { input: { operatorsIds: [pool], idType: 'pool' }, size: 'size', of: [9, 1000] },
        'validators.effectivenessV0': { input: one, size: 'size', of: [8, 1000] },
        'validators.find': { input: { pool }, size: 'limit', of: [9, 100] },
        'validators.operators': { input: {}, size: 'size', of: [1, 100] },
        'validators.operatorEffectiveness': { input: { operator_id: pool }, size: 'size', of: [8, 1000] },
        'validators.entities': { input: {}, size: 'limit', of: [1, 100] },
        'markets.list': { input: {}, size: 'limit', of: [30, 500] },
        'markets.events': { input: {}, size: 'limit', of: [4, 100] },
        'markets.tags': { input: {}, size: 'limit', of: [6, 100] },
        'markets.series': { input: {}, size: 'limit', of: [1, 50] },
        'markets.publicSearch': { input: { q: 'will' }, size: 'limit_per_type', of: [2, 50] },
        'markets.changesBySlug': { input: { slug }, size: 'limit', of: [1, 100] },
      }
    for (const [id, { input, size, of }] of Object.entries(lists)) {
      const [small, large] = of.map((records) => ({ ...input, [size]: records })) as [never, never]
      const { records } = pagedEndpoints[id as PagedId]
      await expectSameRecords(
        async () => {
          const reply: unknown = await client.call(id as PagedId, large)
          const whole = (records === null ? reply : (reply as Record<string, unknown>)[records]) as unknown[]
          assert.ok(whole.length > of[0] && whole.length < of[1], `${id}: ${whole.length} records`)
          return whole
        },
        () => Array.fromAsync(client.call(id as PagedId, small).records()),
        id,
      )
    }
  })

  test('a signed download link works unless it was changed', async () => {
    const { result } = await client.explorer.labelListV2({ chainid: '1', format: 'csv' })
    assert.equal(typeof result, 'string')
    const link = String(result)
    const good = await fetch(link)
    assert.equal(good.status, 200)
    assert.match(await good.text(), /^labelname,labelslug,shortdescription,notes,lastupdatedtimestamp\r\n/)
    assert.equal((await fetch(link.replace(/expires=\d/, 'expires=9'))).status, 403)
    assert.equal((await fetch(link.split('?')[0] ?? '')).status, 403)
  })

  test('each group fails with its own typed error', async () => {
    const unknownKey = createClient({ baseUrl: world.url, key: 'tetrad:nobody:nothing', retries: 0 })
    await assert.rejects(unknownKey.explorer.fundedBy({ address: world.samples.address }), { name: 'ExplorerError' })
    await assert.rejects(
      unknownKey.fx.createQuote({ from: { currency: 'USDC', amount: '1' }, to: { currency: 'EURC' }, tenor: 'daily' }),
      { name: 'FxError', status: 401 },
    )
    await assert.rejects(unknownKey.validators.metadata({ validator_index_or_pubkey: '1' }), {
      name: 'ValidatorsError',
      status: 401,
    })
    await assert.rejects(client.markets.bySlug({ slug: 'there-is-no-such-market' }), {
      name: 'MarketsError',
      status: 404,
    })
  })

  test('the label list needs the enterprise plan, the funding lookup the standard plan', async () => {
    const free = createClient({ baseUrl: world.url, key: await world.keyFor('free'), retries: 0 })
    const standard = createClient({ baseUrl: world.url, key: await world.keyFor('standard'), retries: 0 })
    await assert.rejects(free.explorer.fundedBy({ address: world.samples.address }), /standard/i)
    await assert.rejects(standard.explorer.labelListV1({}), /enterprise/i)
    assert.equal((await standard.explorer.fundedBy({ address: world.samples.address })).status, '1')
  })

  test('4.3 accepts two calls a second on every plan', async () => {
    const eager = createClient({ baseUrl: world.url, key: await world.keyFor('enterprise'), retries: 0 })
    const ask = () => eager.explorer.fundedBy({ address: world.samples.address })
    await ask()
    await ask()
    await assert.rejects(ask(), /Max calls per sec rate limit reached \(2\/sec\)/)
  })
})
