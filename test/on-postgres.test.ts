// The server on PostgreSQL: the endpoint tests pass there, the demo returns the same bytes (also with limits in Redis),
// and no caller gets an error while database backends and a server are killed.

import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { createClient } from '#api/client/client.ts'
import { FxError } from '#api/client/errors.ts'
import { openAuthorizer } from '#http/authorize.ts'
import { startHttpServer } from '#http/http-server.ts'
import { createApp } from '#http/pipeline.ts'
import { systemClock } from '#runtime/clock.ts'
import type { Settings } from '#runtime/settings.ts'
import { type AppContext, createContext } from '#server/context.ts'
import { endpoints } from '#server/endpoints.ts'
import { extensions } from '#server/extensions.ts'
import { startDemo } from '#simulator/demo.ts'
import { copyStores } from '#storage/backup.ts'
import { createKey } from '#storage/keys.ts'
import { identifySources, moveStores } from '#storage/move.ts'
import { openDuties, openIngest, openState } from '#storage/open.ts'
import { outageWaitMs } from '#storage/postgres/outage.ts'
import type { State } from '#storage/state.ts'
import { dutiesOnThisThread } from '#validators/duties/store.ts'
import { withChainTimes } from '#validators/ingest/read/chain-identity.ts'
import { openContext, type TestContext } from './context.ts'
import { inject } from './inject.ts'
import { onlyInLongRun } from './long.ts'
import { noPostgres, type PostgresServer, startPostgres } from './postgres.ts'
import { noRedis, startRedis } from './redis.ts'
import { startProcess } from './second-process.ts'
import { copyDemo } from './template.ts'
import { passOnPostgres } from './tests-on-postgres.ts'

/** The tests of endpoints, of lists, and of the code below them. */
const endpointTests = [
  'explorer/endpoints/label-lists',
  'explorer/labels/lists/downloads',
  'explorer/endpoints/funded-by',
  'explorer/funding/fundings',
  'fx/endpoints/create-quote',
  'fx/endpoints/pricing-rules',
  'fx/extensions/lists/quotes',
  'fx/pricing/quotes',
  'fx/rates/contradictions',
  'validators/endpoints/metadata',
  'validators/entities/import-entities',
  'validators/entities/memberships',
  'validators/entities/rules',
  'validators/extensions/lists/list',
  'validators/extensions/operators/operators',
  'markets/endpoints/by-slug',
  'markets/columns/list-views',
  'markets/read/changed-records',
  'markets/extensions/lists/find-page',
  'markets/ticks/merge-ticks',
  'markets/write/put-markets',
  'operations/export/export',
]
/**
 * Tests whose SQL other tests run on PostgreSQL: those of ratings in server/validators/on-postgres.test.ts, those of lists
 * in find-page and the moved demo, those of past slugs in by-slug.
 */
const longEndpointTests = [
  'validators/endpoints/aggregate-effectiveness',
  'validators/endpoints/effectiveness',
  'markets/extensions/lists/lists',
  'markets/read/slugs-as-of',
  'markets/read/versions',
]

describe('server on PostgreSQL', { skip: noPostgres }, () => {
  let server: PostgresServer
  before(async () => {
    server = await startPostgres()
  })
  after(() => server?.[Symbol.asyncDispose]())

  test('passes the tests of endpoints, of lists and of exports', async () => {
    await passOnPostgres(server.url, endpointTests)
  })

  test('passes the other tests of endpoints', { skip: onlyInLongRun }, async () => {
    await passOnPostgres(server.url, longEndpointTests)
  })

  describe('the moved demo returns the same bytes', () => {
    const cleanup = new AsyncDisposableStack()
    let context: TestContext
    let settings: Settings
    let calls: readonly Call[]
    let embedded: Awaited<ReturnType<typeof repliesOf>>
    let stores: Pick<AppContext, 'state' | 'ingest' | 'duties'>
    before(async () => {
      const demo = cleanup.adopt(await startDemo(), (opened) => opened.close())
      // With this address, the links in responses do not contain the port.
      const overrides = { ...demo.settings, server: { port: 0, publicUrl: 'http://tetrad.test' } }
      context = cleanup.use(await openContext(overrides, systemClock.now(), copyDemo))
      await demo.load(context)
      settings = await withChainTimes(context)
      calls = await callsOf(context)
      embedded = await repliesOf({ ...context, settings }, calls)
      await identifySources([context.state, context.ingest], context.random)
      await identifySources([context.dutiesState], context.random)
      const copy = join(context.dir, 'copy')
      await copyStores(context.dir, context.ingest, copy)
      const closeLater = (state: State) => cleanup.adopt(state, () => state.close())
      const to = { state: await server.schema() }
      const [state, duties] = [
        closeLater(await openState(context.dir, to)),
        closeLater(await openDuties(context.dir, to)),
      ]
      const moves = [
        { source: closeLater(await openState(copy)), target: state, except: ['cursors'] },
        { source: closeLater(await openIngest(copy)), target: state },
        { source: closeLater(await openDuties(copy)), target: duties },
      ]
      const report = await moveStores(moves, () => {}, new AbortController().signal)
      assert.ok(report.reduce((sum, { rows }) => sum + rows, 0) > 3000)
      stores = { state, ingest: state, duties: dutiesOnThisThread(duties) }
    })
    after(() => cleanup.disposeAsync())

    /** Sends every call, or one of `step`. */
    const expectSameReplies = async (other: AppContext, step = 1) => {
      const refused = embedded.filter(({ status, bytes }) => status !== 200 || bytes.includes('Max calls per sec'))
      assert.deepEqual(refused, [])
      const isSent = (_: unknown, at: number) => at % step === 0
      const replies = await repliesOf(other, calls.filter(isSent))
      for (const [at, reply] of embedded.filter(isSent).entries()) assert.deepEqual(replies[at], reply)
    }

    test('on PostgreSQL', () => expectSameReplies(createContext({ ...context, settings, ...stores })))

    test('on PostgreSQL with limits in Redis', { skip: noRedis }, async () => {
      await using redis = await startRedis()
      const withRedis = { ...settings, limits: redis.url }
      await expectSameReplies(createContext({ ...context, settings: withRedis, ...stores }), 3)
    })
  })

  test('no returned quote is lost and no call fails while backends and a server are killed', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'tetrad-test-'))
    const url = await server.schema()
    await using one = startServerProcess(join(dir, 'one'), url)
    const first = JSON.parse((await one.line()) ?? '') as { url: string; key: string }
    await using two = startServerProcess(join(dir, 'two'), url)
    const second = JSON.parse((await two.line()) ?? '') as { url: string }
    const clients = [first, second].map(({ url }) =>
      createClient({ baseUrl: url, key: first.key, retries: 0, timeoutMs: 300_000 }),
    )
    const quoteIds: string[] = []
    const errors: unknown[] = []
    let isFirstKilled = false
    let stop = false
    try {
      const respondedMs = [performance.now(), performance.now()]
      const createQuotes = async (number: number): Promise<void> => {
        const server = number % 2
        for (let order = 0; !stop && errors.length < 10 && !(isFirstKilled && server === 0); ) {
          const idempotencyKey = `order-${number}-${order}`
          try {
            quoteIds.push((await clients[server]?.fx.createQuote({ ...quoteInput, idempotencyKey }))?.id ?? '')
            respondedMs[server] = performance.now()
            order += 1
          } catch (error) {
            // On a busy machine, PostgreSQL may need longer to recover than a call waits. Then it is repeated.
            const hasWaited = performance.now() - (respondedMs[server] ?? 0) >= outageWaitMs
            if (hasWaited && error instanceof FxError && error.retryable)
              await systemClock.sleep(error.retryAfterMs ?? 0)
            else if (!(isFirstKilled && server === 0)) errors.push(error)
          }
        }
      }
      const callers = Array.from({ length: 6 }, (_, number) => createQuotes(number))
      const waitForMore = async (count: number) => {
        const goal = quoteIds.length + count
        while (quoteIds.length < goal && errors.length === 0) await new Promise((resolve) => setTimeout(resolve, 10))
      }
      for (let round = 0; round < 3; round += 1) {
        await waitForMore(24)
        process.kill(await writingBackend(server), 'SIGKILL')
      }
      await waitForMore(24)
      isFirstKilled = true
      await one.kill()
      await waitForMore(24)
      stop = true
      await Promise.all(callers)
      assert.deepEqual(errors, [])
      const state = await openState(dir, { state: url })
      const stored = new Set((await state.all<{ id: string }>('select id from fx_quotes')).map(({ id }) => id))
      const pairs = await state.get<{ n: number }>(
        'select count(*) as n from fx_idempotency i join fx_quotes q on q.id = i.quote_id',
      )
      await state.close()
      assert.deepEqual(
        quoteIds.filter((id) => !stored.has(id)),
        [],
      )
      assert.equal(new Set(quoteIds).size, quoteIds.length)
      assert.equal(pairs?.n, stored.size)
    } finally {
      stop = true
      await rm(dir, { recursive: true, force: true })
    }
  })
})

/** The pid of a backend that has written. Retries while the server recovers. */
async function writingBackend(server: PostgresServer): Promise<number> {
  const sql =
    "select pid from pg_stat_activity where query like '%insert into state_commits%' and pid <> pg_backend_pid() limit 1"
  for (let tries = 0; tries < 10_000; tries += 1) {
    const row = await server.sql<{ pid: number }>(sql).catch(() => undefined)
    if (row) return row.pid
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Error('no backend writes')
}

interface Call {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

const addressCount = 20

/** GET calls of the contract and of most extensions. */
async function callsOf({ state, ingest, clock, random }: AppContext): Promise<Call[]> {
  // One key per funding call, because of the limit of two per second.
  const keys: string[] = []
  for (let count = 0; count < 2 + addressCount; count++)
    keys.push((await createKey(state, { name: 'test', plan: 'enterprise' }, clock, random)).key)
  const key = keys[0] ?? ''
  const addresses = await ingest.all<{ address: Uint8Array }>(
    'select address from fundings order by address limit ?',
    addressCount,
  )
  const slugs = await ingest.all<{ slug: string; id: string }>(
    'select slug, market_id as id from market_slugs order by slug, market_id limit 20',
  )
  const events = await ingest.all<{ id: string; slug: string }>(
    "select id, slug from market_records where kind = 'event' order by id limit 3",
  )
  const headers = { authorization: `Bearer ${key}` }
  const explorer = (query: string) => `/v2/api?apikey=${key}&${query}`
  const funding = (query: string) => `/v2/api?apikey=${keys.pop()}&module=account&action=fundedby&${query}`
  const urls = [
    ...['1', '137'].map((chain) => explorer(`module=nametag&action=getlabelmasterlist&chainid=${chain}`)),
    ...addresses.map(({ address }) => funding(`address=0x${address.toHex()}`)),
    funding(`chainid=137&address=0x${'5'.repeat(40)}`),
    `/v1/api.ashx?apikey=${key}&module=nametag&action=getlabelmasterlist`,
    explorer(`module=nametag&action=getlabelmasterlist&chainid=1&format=csv`),
    `/v1/eth/validators?pool=Harbour`,
    `/markets/search?q=the`,
    `/markets/changes?limit=50`,
    ...['id', 'volume', 'endDate'].map((order) => `/markets?limit=500&order=${order}`),
    `/markets?limit=5&offset=7&order=volume`,
    `/markets/keyset?limit=7&tag_slug=infrastructure&order=liquidity&ascending=false`,
    `/events?limit=100`,
    `/events/keyset?limit=7&order=volume`,
    ...events.flatMap(({ id, slug }) => [`/events/${id}`, `/events/slug/${slug}`, `/events/${id}/tags`]),
    `/series?limit=50`,
    `/public-search?q=the`,
    `/tags?limit=500`,
    `/tags/slug/infrastructure`,
    ...slugs.flatMap(({ slug, id }) => [
      `/markets/slug/${slug}`,
      `/markets/slug/${slug}?include_tag=false`,
      `/markets/${id}`,
      `/markets/${id}/tags`,
    ]),
  ]
  const ratings = ['mainnet', 'hoodi'].flatMap((network) =>
    ratingsPaths.map((url) => ({ url, headers: { ...headers, 'x-validator-network': network } })),
  )
  return [...urls.map((url) => ({ url, headers })), ...ratings]
}

const ratingsPaths = Array.from({ length: 5 }, (_, index) => [
  `/v0/eth/validators/${index}`,
  `/v1/eth/validators/${index}/effectiveness?limit=7`,
  `/v1/eth/validators/${index}/effectiveness?limit=7&granularity=hour&sortBy=uptime&sortOrder=desc`,
  `/v1/eth/validators/${index}/effectiveness?granularity=all&utc=true`,
  `/v0/eth/validators/effectiveness?indices=${index},${index + 1}&size=3`,
  `/v0/eth/validators/effectiveness?indices=${index},${index + 1}&size=3&groupBy=validator&granularity=month`,
]).flat()

async function repliesOf(context: AppContext, calls: readonly Call[]) {
  const authorizer = await openAuthorizer(context)
  const app = createApp(context, [...endpoints, ...extensions], authorizer, { request: () => {} })
  const httpServer = await startHttpServer(app, [])
  const replies = []
  // For a second after Redis has started, funding lookups are refused (behaviour/operations.md#redis-outages).
  if (context.settings.limits !== '') await systemClock.sleep(1100)
  for (const { url, headers } of calls) {
    const { statusCode: status, rawPayload, headers: all } = await inject(httpServer, { url, headers })
    const { etag, 'last-modified': modified, 'content-type': type } = all
    const confidence = Object.entries(all).filter(([name]) => name.startsWith('x-tetrad-'))
    replies.push({ url, status, bytes: rawPayload.toString(), etag, modified, type, confidence })
  }
  await httpServer.close()
  await authorizer.close()
  return replies
}

const quoteInput = {
  from: { currency: 'USDC', amount: '1000' },
  to: { currency: 'EURC' },
  tenor: 'instant',
  recipientAddress: `0x${'11'.repeat(20)}`,
} as const

/** A server in its own process. It prints its URL and a key with all permissions. */
const startServerProcess = (dir: string, url: string) =>
  startProcess(`
    const { startServer } = await load('server/app.ts')
    const { silentLog } = await load('server/runtime/log.ts')
    const { createKey } = await load('server/storage/keys.ts')
    const { createClient } = await load('api/client/client.ts')
    const { settingsWith } = await load('test/context.ts')
    const settings = settingsWith({
      server: { port: 0, responseTimeoutMs: 300_000 }, store: { state: ${JSON.stringify(url)}, stateWaitMs: 240_000 }, fx: { spender: '0x3333333333333333333333333333333333333333', sources: [{ id: 'desk', kind: 'push' }] },
    })
    const { context, url } = await startServer({ settings, dataDir: ${JSON.stringify(dir)}, log: silentLog })
    const input = { name: 'test', plan: 'enterprise', admin: true }
    const { key } = await createKey(context.state, input, context.clock, context.random)
    await createClient({ baseUrl: url, key }).fx.setRate({ pair: 'EUR/USD', rate: '1.25' })
    print(JSON.stringify({ url, key }))
  `)
