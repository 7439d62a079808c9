// The server on PostgreSQL: the tests of the eight endpoints once more, every answer of the demo world there and with its limits in Redis, and what callers of two servers see while backends and a server are killed. Nothing but time.

import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { createClient } from '#api/client.ts'
import { openAuthorizer } from '#http/authorize.ts'
import { startHttpServer } from '#http/http-server.ts'
import { createApp } from '#http/pipeline.ts'
import { systemClock } from '#runtime/clock.ts'
import type { Settings } from '#runtime/settings.ts'
import { type AppContext, createContext } from '#server/context.ts'
import { endpoints, extensions } from '#server/endpoints.ts'
import { startDemo } from '#simulator/demo.ts'
import { copyStores } from '#storage/backup.ts'
import { createKey } from '#storage/keys.ts'
import { identifySource, moveStores } from '#storage/move.ts'
import { openDuties, openState } from '#storage/open.ts'
import type { State } from '#storage/state.ts'
import { dutiesHere } from '#validators/duties/store.ts'
import { withChainTimes } from '#validators/ingest/read/chain-identity.ts'
import { openContext, type TestContext } from './context.ts'
import { noPostgres, type PostgresServer, startPostgres } from './postgres.ts'
import { noRedis, startRedis } from './redis.ts'
import { startProcess } from './second-process.ts'
import { copyDemo } from './template.ts'
import { passOnPostgres } from './tests-on-postgres.ts'

/** Where the eight endpoints are tested, and what they rest on. */
const endpointTests = [
  'explorer/label-lists',
  'explorer/exports',
  'explorer/funded-by',
  'explorer/fundings',
  'fx/create-quote',
  'fx/quotes',
  'validators/aggregate-effectiveness',
  'validators/effectiveness',
  'validators/metadata',
  'markets/by-slug',
]

describe('the server on PostgreSQL', { skip: noPostgres }, () => {
  let server: PostgresServer
  before(async () => {
    server = await startPostgres()
  })
  after(() => server?.[Symbol.asyncDispose]())

  test('the tests of the eight endpoints pass', async () => {
    await passOnPostgres(server.url, endpointTests)
  })

  describe('the demo world, moved over, answers every call with the same bytes', () => {
    const moving = new AsyncDisposableStack()
    let context: TestContext
    let settings: Settings
    let calls: readonly Asked[]
    let embedded: Awaited<ReturnType<typeof repliesOf>>
    let stores: Pick<AppContext, 'state' | 'duties'>
    before(async () => {
      const demo = moving.adopt(await startDemo(), (world) => world.close())
      context = moving.use(await openContext(demo.settings, systemClock.now(), copyDemo))
      await demo.load(context)
      settings = await withChainTimes(context)
      calls = await callsOf(context)
      embedded = await repliesOf({ ...context, settings }, calls)
      for (const source of [context.state, context.dutiesState]) await identifySource(source, context.random)
      const copy = join(context.dir, 'copy')
      await copyStores(context.dir, context.duties, copy)
      const opened = (state: State) => moving.adopt(state, () => state.close())
      const to = { state: await server.schema() }
      const [state, duties] = [opened(await openState(context.dir, to)), opened(await openDuties(context.dir, to))]
      const moves = [
        { source: opened(await openState(copy)), target: state },
        { source: opened(await openDuties(copy)), target: duties },
      ]
      const moved = await moveStores(moves, () => {}, new AbortController().signal)
      assert.ok(moved.tables.reduce((sum, { rows }) => sum + rows, 0) > 3000)
      stores = { state, duties: dutiesHere(duties) }
    })
    after(() => moving.disposeAsync())

    const sameFrom = async (other: AppContext) => {
      const refused = embedded.filter(({ status, bytes }) => status !== 200 || bytes.includes('Max calls per sec'))
      assert.deepEqual(refused, [])
      const larger = await repliesOf(other, calls)
      for (const [at, reply] of embedded.entries()) assert.deepEqual(larger[at], reply)
    }

    test('on PostgreSQL', () => sameFrom(createContext({ ...context, settings, ...stores })))

    test('on PostgreSQL, the limits in Redis', { skip: noRedis }, async () => {
      await using redis = await startRedis()
      await sameFrom(createContext({ ...context, settings: { ...settings, limits: redis.url }, ...stores }))
    })
  })

  test('backends and a server are killed while quotes are made: every answered quote is there, and nobody is told an error', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'tetrad-test-'))
    const url = await server.schema()
    await using one = serving(join(dir, 'one'), url)
    const first = JSON.parse((await one.line()) ?? '') as { url: string; key: string }
    await using two = serving(join(dir, 'two'), url)
    const second = JSON.parse((await two.line()) ?? '') as { url: string }
    const clients = [first, second].map((at) =>
      createClient({ baseUrl: at.url, key: first.key, retries: 0, timeoutMs: 300_000 }),
    )
    const answered: string[] = []
    const errors: unknown[] = []
    let oneIsDead = false
    let stop = false
    try {
      const ask = async (number: number): Promise<void> => {
        const at = number % 2
        for (let order = 0; !stop && errors.length < 10 && !(oneIsDead && at === 0); order += 1) {
          const idempotencyKey = `order-${number}-${order}`
          try {
            answered.push((await clients[at]?.fx.createQuote({ ...asked, idempotencyKey }))?.id ?? '')
          } catch (error) {
            if (!(oneIsDead && at === 0)) errors.push(error)
          }
        }
      }
      const asking = Array.from({ length: 6 }, (_, number) => ask(number))
      const more = async (count: number) => {
        const goal = answered.length + count
        while (answered.length < goal && errors.length === 0) await new Promise((resolve) => setTimeout(resolve, 10))
      }
      for (let round = 0; round < 3; round += 1) {
        await more(60)
        process.kill(await writingBackend(server), 'SIGKILL')
      }
      await more(60)
      oneIsDead = true
      await one.kill()
      await more(60)
      stop = true
      await Promise.all(asking)
      assert.deepEqual(errors, [])
      const state = await openState(dir, { state: url })
      const kept = new Set((await state.all<{ id: string }>('select id from fx_quotes')).map(({ id }) => id))
      const pairs = await state.get<{ n: number }>(
        'select count(*) as n from fx_idempotency i join fx_quotes q on q.id = i.quote_id',
      )
      await state.close()
      assert.deepEqual(
        answered.filter((id) => !kept.has(id)),
        [],
      )
      assert.equal(new Set(answered).size, answered.length)
      assert.equal(pairs?.n, kept.size)
    } finally {
      stop = true
      await rm(dir, { recursive: true, force: true })
    }
  })
})

/** One that has committed something; asked again while the server recovers from the last time. */
async function writingBackend(server: PostgresServer): Promise<number> {
  const sql = "select pid from pg_stat_activity where query like '%pg_notify%' and pid <> pg_backend_pid() limit 1"
  for (let tries = 0; tries < 10_000; tries += 1) {
    const row = await server.sql<{ pid: number }>(sql).catch(() => undefined)
    if (row) return row.pid
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Error('nobody writes')
}

interface Asked {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

/** Reads of all eight endpoints that have any, and of most beyond them. */
async function callsOf({ state, clock, random }: AppContext): Promise<Asked[]> {
  // One for each, because of the fundings two a second pass.
  const keys: string[] = []
  for (let made = 0; made < 62; made++)
    keys.push((await createKey(state, { name: 'test', plan: 'enterprise' }, clock, random)).key)
  const key = keys[0] ?? ''
  const addresses = await state.all<{ address: Uint8Array }>('select address from fundings order by address limit 60')
  const slugs = await state.all<{ slug: string }>('select slug from market_slugs order by slug limit 60')
  const headers = { authorization: `Bearer ${key}` }
  const explorer = (words: string) => `/v2/api?apikey=${key}&${words}`
  const funding = (words: string) => `/v2/api?apikey=${keys.pop()}&module=account&action=fundedby&${words}`
  const urls = [
    ...['1', '137'].map((chain) => explorer(`module=nametag&action=getlabelmasterlist&chainid=${chain}`)),
    ...addresses.map(({ address }) => funding(`address=0x${address.toHex()}`)),
    funding(`chainid=137&address=0x${'5'.repeat(40)}`),
    `/v1/api.ashx?apikey=${key}&module=nametag&action=getlabelmasterlist`,
    explorer(`module=nametag&action=getlabelmasterlist&chainid=1&format=csv`),
    `/v0/eth/validators?pool=Harbour`,
    `/markets/search?q=the`,
    `/markets/changes?limit=50`,
    ...slugs.flatMap(({ slug }) => [`/markets/slug/${slug}`, `/markets/slug/${slug}?include_tag=false`]),
  ]
  const ratings = ['mainnet', 'hoodi'].flatMap((network) =>
    ratingsPaths.map((url) => ({ url, headers: { ...headers, 'x-validator-network': network } })),
  )
  return [...urls.map((url) => ({ url, headers })), ...ratings]
}

const ratingsPaths = Array.from({ length: 12 }, (_, index) => [
  `/v0/eth/validators/${index}`,
  `/v1/eth/validators/${index}/effectiveness?limit=7`,
  `/v1/eth/validators/${index}/effectiveness?limit=7&granularity=hour&sortBy=uptime&sortOrder=desc`,
  `/v1/eth/validators/${index}/effectiveness?granularity=all&utc=true`,
  `/v0/eth/validators/effectiveness?indices=${index},${index + 1}&size=3`,
  `/v0/eth/validators/effectiveness?indices=${index},${index + 1}&size=3&groupBy=validator&granularity=month`,
]).flat()

async function repliesOf(context: AppContext, calls: readonly Asked[]) {
  const admission = await openAuthorizer(context)
  const house = createApp(context, [...endpoints, ...extensions], admission, { request: () => {} })
  const door = await startHttpServer(house, [])
  const replies = []
  // A Redis that has just begun lets nobody look up fundings for a second (behaviour/operations.md#redis-outages).
  if (context.settings.limits !== '') await systemClock.sleep(1100)
  for (const { url, headers } of calls) {
    const { statusCode: status, rawPayload, headers: all } = await door.inject({ url, headers })
    const { etag, 'last-modified': modified, 'content-type': type } = all
    const told = Object.entries(all).filter(([name]) => name.startsWith('x-tetrad-'))
    replies.push({ url, status, bytes: rawPayload.toString(), etag, modified, type, told })
  }
  await door.close()
  await admission.close()
  return replies
}

const asked = {
  from: { currency: 'USDC', amount: '1000' },
  to: { currency: 'EURC' },
  tenor: 'instant',
  recipientAddress: `0x${'11'.repeat(20)}`,
} as const

/** A whole server in a process of its own; it says where it is, and a key that may do everything. */
const serving = (dir: string, url: string) =>
  startProcess(`
    const { start } = await load('server/app.ts')
    const { silentLog } = await load('server/runtime/log.ts')
    const { createKey } = await load('server/storage/keys.ts')
    const { createClient } = await load('api/client.ts')
    const { settingsWith } = await load('test/context.ts')
    const settings = settingsWith({
      server: { port: 0, answerTimeoutMs: 300_000 }, store: { state: ${JSON.stringify(url)}, stateWaitMs: 240_000 }, fx: { spender: '0x3333333333333333333333333333333333333333', sources: [{ id: 'desk', kind: 'push' }] },
    })
    const { context, url } = await start({ settings, dataDir: ${JSON.stringify(dir)}, log: silentLog })
    const wanted = { name: 'test', plan: 'enterprise', admin: true }
    const { key } = await createKey(context.state, wanted, context.clock, context.random)
    await createClient({ baseUrl: url, key }).fx.setRate({ pair: 'EUR/USD', rate: '1.25' })
    say(JSON.stringify({ url, key }))
  `)
