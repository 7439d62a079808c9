// Several servers on one PostgreSQL: what waits for a lock and what does not, and how a server notices changes.

import { strict as assert } from 'node:assert'
import { after, before, describe, test } from 'node:test'
import type { Awaitable } from '#core/awaitable.ts'
import { fundedBy } from '#explorer/endpoints/funded-by.ts'
import { blocksStream, confirmHead, putHead } from '#explorer/funding/chain-coverage.ts'
import { putFundings } from '#explorer/funding/fundings.ts'
import { createQuote } from '#fx/endpoints/create-quote.ts'
import { storeRates } from '#fx/rates/rate-store.ts'
import { bySlug } from '#markets/endpoints/by-slug.ts'
import { putMarkets } from '#markets/write/put-markets.ts'
import { systemClock } from '#runtime/clock.ts'
import { silentLog } from '#runtime/log.ts'
import { systemRandom } from '#runtime/random.ts'
import { type AppContext, createContext } from '#server/context.ts'
import { addCoverage } from '#storage/coverage.ts'
import { createKey, findKey } from '#storage/keys.ts'
import { stateMigrations } from '#storage/migrations.ts'
import type { State } from '#storage/state.ts'
import { timedState } from '#storage/timed.ts'
import { addUsage, dayOf } from '#storage/usage.ts'
import { dutiesOnThisThread } from '#validators/duties/store.ts'
import { settingsWith, testNowMs, testRequestInfo } from './context.ts'
import { ManualClock } from './manual-clock.ts'
import { openPostgres } from './open-database.ts'
import { noPostgres, type PostgresServer, startPostgres } from './postgres.ts'
import { insertCounter, tables } from './state-suite/store-location.ts'
import { waitForMoment } from './wait-until.ts'

const address = `0x${'ab'.repeat(20)}`
const source = { id: 'a', kind: 'http-json', url: 'https://rates.example/', everyMs: 2000, staleMs: 60_000 }
const quoteInput = {
  from: { currency: 'USDC', amount: '1000.00' },
  to: { currency: 'EURC' },
  tenor: 'instant',
  type: 'tradable',
  recipientAddress: `0x${'1'.repeat(40)}`,
} as const

const marketNumber = (number: number) => ({
  kind: 'market' as const,
  id: String(number),
  fields: { slug: `market-${number}`, question: `Number ${number}?` },
  links: {},
})

describe('several servers', { skip: noPostgres }, () => {
  let server: PostgresServer
  before(async () => {
    server = await startPostgres()
  })
  after(() => server?.[Symbol.asyncDispose]())

  async function openServers(count: number) {
    const resources = new AsyncDisposableStack()
    const url = await server.schema()
    const open = async (): Promise<AppContext> => {
      const state = await openPostgres(url, stateMigrations, { connections: 2 })
      resources.defer(() => state.close())
      const settings = settingsWith({ fx: { spender: `0x${'3'.repeat(40)}`, sources: [source] } })
      const clock = new ManualClock(testNowMs)
      const duties = dutiesOnThisThread(state)
      return createContext({ state, ingest: state, duties, settings, clock, random: systemRandom, log: silentLog })
    }
    const one = await open()
    await fill(one)
    // Opened last, so that they have noticed what was filled in.
    const others = await Promise.all(Array.from({ length: count - 1 }, open))
    return { url, one, others, [Symbol.asyncDispose]: () => resources.disposeAsync() }
  }

  /** A rate, a market and a funding. */
  async function fill({ state, clock }: AppContext): Promise<void> {
    const atMs = testNowMs - 1000
    await storeRates(state, 'a', [{ source: 'a', base: 'EUR', quote: 'USD', rate: '1.25', atMs }], atMs)
    await state.write((tx) => putMarkets(tx, [marketNumber(1)], testNowMs), { lock: 'markets' })
    const [block, txIndex, position] = [60, 3, 0]
    const funding = { chain: '1', address, block, txIndex, position, timeUnix: 1_700_000_000, valueWei: 1n }
    await state.write(async (tx) => {
      await putFundings(tx, [{ ...funding, funder: `0x${'0f'.repeat(20)}`, tx: `0x${'1e'.repeat(32)}` }])
      await addCoverage(tx, blocksStream('1'), 0, 100)
      await putHead(tx, '1', 100)
    })
    await confirmHead(state, '1', 100, clock.now())
  }

  const outcomeOf = async (outcome: Awaitable<{ readonly is: string }>) => (await outcome).is

  /** Everything that must not wait for markets. */
  async function useServer(context: AppContext): Promise<void> {
    const { state, clock, random } = context
    const { id } = await createKey(state, { name: 'caller', plan: 'free' }, clock, random)
    assert.ok(await findKey(state, id))
    const count = {
      day: dayOf(testNowMs),
      keyId: id,
      endpoint: 'fx.createQuote',
      outcome: 'accepted',
      calls: 1,
    } as const
    await addUsage(state, [count], new Map([[id, testNowMs]]))
    assert.equal(await outcomeOf(createQuote.handle(quoteInput, context, testRequestInfo())), 'bytes')
    assert.equal(await outcomeOf(fundedBy.handle({ chainid: '1', address }, context, testRequestInfo())), 'body')
    const slug = { slug: 'market-1', include_tag: true }
    assert.equal(await outcomeOf(bySlug.handle(slug, context, testRequestInfo())), 'bytes')
  }

  test('while another session has locked the tables of markets, everything else is served (storage/state.ts, rule 2)', async () => {
    await using servers = await openServers(2)
    const { url, one, others } = servers
    const session = await openPostgres(url, stateMigrations, { connections: 1 })
    const [locked, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const holding = session.write(async (tx) => {
      await tx.run('set local idle_in_transaction_session_timeout = 0')
      await tx.run('lock table market_records, market_revision, market_versions in exclusive mode')
      locked.resolve()
      await released.promise
    })
    await locked.promise
    let isImported = false
    const importing = one.state
      .write(
        async (tx) => {
          await tx.run("set local lock_timeout = '60s'")
          return putMarkets(tx, [marketNumber(2)], testNowMs)
        },
        { lock: 'markets' },
      )
      .finally(() => {
        isImported = true
      })
    const waiting = `select count(*) as n from pg_locks where not granted and locktype = 'relation'`
    await waitForMoment(async () => ((await server.sql<{ n: number }>(waiting))?.n ?? 0) > 0)
    for (const context of [one, ...others]) await useServer(context)
    assert.equal(isImported, false)
    released.resolve()
    await Promise.all([holding, importing])
    await session.close()
  })

  test('a quote waits for no lock while markets are imported on two servers (storage/state.ts, rule 2)', async () => {
    await using servers = await openServers(2)
    const { one, others } = servers
    const waits = new Map<string, number>()
    const count = (_store: string, operation: string) => void waits.set(operation, (waits.get(operation) ?? 0) + 1)
    const contexts = [one, ...others].map((context) => ({
      ...context,
      state: timedState(context.state, systemClock, count),
    }))
    // The first quote of a server creates or reads the key of receipts, which takes a lock.
    for (const context of [one, ...others]) await createQuote.handle(quoteInput, context, testRequestInfo())
    let quotes = contexts.length
    let isOver = false
    const importing = contexts.map(async ({ state }, at) => {
      for (let number = 10 + at; !isOver; number += 2)
        await state.write((tx) => putMarkets(tx, [marketNumber(number)], testNowMs), { lock: 'markets' })
    })
    await waitForMoment(async () => {
      await Promise.all(contexts.map((context) => createQuote.handle(quoteInput, context, testRequestInfo())))
      quotes += contexts.length
      return quotes >= 20 && waits.has('lock:markets')
    })
    isOver = true
    await Promise.all(importing)
    assert.deepEqual(
      [...waits.keys()].filter((operation) => operation.startsWith('lock:')),
      ['lock:markets'],
    )
    assert.deepEqual(await one.state.get('select count(*) as n from fx_quotes'), { n: quotes })
  })

  test('a change of one group of tables does not change the version of another (storage/state.ts, rule 3)', async () => {
    await using servers = await openServers(2)
    const { one, others } = servers
    const [other] = others
    assert.ok(other)
    const versionsOf = ({ state }: AppContext) => [state.version('markets'), state.version('labels')]
    const settled = other.state.version('markets')
    await one.state.write((tx) => putMarkets(tx, [marketNumber(3)], testNowMs), { lock: 'markets' })
    await waitForMoment(() => other.state.version('markets') !== settled)
    const before = [versionsOf(one), versionsOf(other)]
    const [quotes, theirs] = [one.state.version('quotes'), other.state.version('quotes')]
    await createQuote.handle(quoteInput, one, testRequestInfo())
    assert.notEqual(one.state.version('quotes'), quotes)
    await waitForMoment(() => other.state.version('quotes') !== theirs)
    assert.deepEqual([versionsOf(one), versionsOf(other)], before)
    await one.state.write((tx) => tx.run('alter table market_records add column more bigint'))
    assert.notDeepEqual(versionsOf(one), before[0])
  })

  test('writes that wait for each other in a circle are repeated (storage/state.ts, rule 7)', async () => {
    const url = await server.schema()
    const states = await Promise.all([0, 1].map(() => openPostgres(url, [tables], { connections: 1 })))
    const [one, other] = states as [State, State]
    await one.write((tx) =>
      tx.insertMany(
        'counters',
        ['name', 'value'],
        [
          ['a', 0],
          ['b', 0],
        ],
      ),
    )
    const increment = `update counters set value = value + 1 where name = ?`
    let runs = 0
    let begun = 0
    const both = Promise.withResolvers<void>()
    const inOrder = (state: State, first: string, second: string) =>
      state.write(async (tx) => {
        runs += 1
        await tx.run(increment, first)
        begun += 1
        if (begun >= 2) both.resolve()
        await both.promise
        await tx.run(increment, second)
      })
    await Promise.all([inOrder(one, 'a', 'b'), inOrder(other, 'b', 'a')])
    assert.ok(runs > 2)
    assert.deepEqual(await one.all('select value from counters'), [{ value: 2 }, { value: 2 }])
    for (const state of states) await state.close()
  })

  test('after a failover to a server that lacks commits, a process notices its own next commit at once (storage/state.ts, rule 11)', async () => {
    await using first = await startPostgres()
    await using second = await first.standby()
    const hosts = [first, second].map(({ port }) => `127.0.0.1:${port}`).join()
    const state = await openPostgres(`postgres://postgres@${hosts}/postgres`, [tables], { connections: 2 })
    await state.write((tx) => tx.run(insertCounter, 'both', 1))
    const isThere = async () =>
      (await second.sql<{ n: number }>('select count(*) as n from counters').catch(() => {}))?.n
    await waitForMoment(async () => (await isThere()) === 1)
    await second.kill()
    for (let lost = 0; lost < 5; lost += 1) await state.write((tx) => tx.run(insertCounter, `lost ${lost}`, 1))
    await first.kill()
    await second.start()
    await second.promote()
    for (const name of ['next', 'last']) {
      const before = state.version()
      await state.write((tx) => tx.run(insertCounter, name, 1))
      assert.notEqual(state.version(), before)
    }
    assert.equal((await state.all('select name from counters')).length, 3)
    await state.close()
  })
})
