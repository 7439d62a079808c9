// Queries of markets on threads, on both engines: they return what the current thread does, and end with their request.
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { changesOfMarketQuery, changesPageQuery } from '#markets/extensions/changes/change-queries.ts'
import { composePageQuery } from '#markets/extensions/lists/compose-page.ts'
import { pricesQuery } from '#markets/extensions/prices/prices-query.ts'
import { foundMarketsQuery } from '#markets/extensions/search/search.ts'
import type { MarketRecord } from '#markets/records/normalize.ts'
import { marketAsOfQuery } from '#markets/threads/market-as-of-query.ts'
import { putMarkets } from '#markets/write/put-markets.ts'
import { openThread } from '#runtime/worker-thread.ts'
import { openIngest, type StoreOptions } from '#storage/open.ts'
import type { State } from '#storage/state.ts'
import { settingsWith, testNowMs } from '#test/context.ts'
import type { CountedThreadStart } from '#test/counted-market-thread.ts'
import { noPostgres, startPostgres } from '#test/postgres.ts'
import { openMarketThreads } from './open-market-threads.ts'

/** More than one statement reads of a market. */
const versions = 1200

async function fill(ingest: State): Promise<void> {
  await ingest.write(
    async (tx) => {
      for (let at = 0; at < versions; at++) {
        const outcomePrices = JSON.stringify([String((at % 100) / 100), '0.5'])
        const fields = { slug: 'bridge', clobTokenIds: '["11","12"]', outcomePrices }
        await putMarkets(tx, [{ kind: 'market', id: '501', fields }], testNowMs + at * 60_000)
      }
      const records = ids.flatMap((id): MarketRecord[] => [
        { kind: 'event', id, fields: { slug: `e-${id}` } },
        { kind: 'market', id, fields: { slug: `m-${id}` }, links: { events: [id] } },
      ])
      await putMarkets(tx, records, testNowMs + versions * 60_000)
    },
    { lock: 'markets' },
  )
}

const ids = Array.from({ length: 120 }, (_, at) => String(1000 + at))
const nowMs = testNowMs + versions * 60_000
const inputs = {
  prices: [pricesQuery, { input: { market: '11', interval: 'max', fidelity: 1 }, nowMs }],
  marketAsOf: [marketAsOfQuery, { key: 'bridge', asOfMs: testNowMs + 30_000 }],
  changesPage: [changesPageQuery, { limit: 1000 }],
  composePage: [composePageQuery, { kind: 'event', ids: ['71', ...ids] }],
  foundMarkets: [foundMarketsQuery, ['501', ...ids]],
  changesOfMarket: [changesOfMarketQuery, { slug: 'bridge', limit: 1000, related: true }],
} as const

function testEngine(openStore: () => Promise<AsyncDisposable & { readonly store: StoreOptions }>): void {
  const cleanup = new AsyncDisposableStack()
  let dir: string
  let ingest: State
  let store: StoreOptions
  before(async () => {
    dir = await mkdtemp(join(tmpdir(), 'tetrad-history-'))
    cleanup.defer(() => rm(dir, { recursive: true, force: true }))
    store = cleanup.use(await openStore()).store
    ingest = await openIngest(dir, store)
    cleanup.defer(() => ingest.close())
    await fill(ingest)
  })
  after(() => cleanup.disposeAsync())

  for (const [name, [query, input]] of Object.entries(inputs)) {
    test(`${name}: the result of a thread is that of the current thread`, async () => {
      const settings = settingsWith({ store })
      const threads = openMarketThreads({ dataDir: dir, settings })
      try {
        const expected = await query.run({ ingest, settings }, input as never)
        assert.deepEqual(await threads.call(name, input), structuredClone(expected))
      } finally {
        await threads.close()
      }
    })

    test(`${name}: after an abort, at most one more unit of work begins on the thread`, async () => {
      const total = (await callCounted(name, input, 0)).units
      for (const stopAt of new Set([1, 2, Math.ceil(total / 2)])) {
        const { units, isAborted } = await callCounted(name, input, stopAt)
        assert.ok(units <= stopAt + 1, `${units} units, aborted in unit ${stopAt} of ${total}`)
        assert.equal(isAborted, stopAt < total, `aborted in unit ${stopAt} of ${total}`)
      }
    })
  }

  /** Aborts the call while unit `stopAt` runs; 0: never. Returns how many units have begun, also later. */
  async function callCounted(name: string, input: unknown, stopAt: number) {
    const shared = new Int32Array(new SharedArrayBuffer(8))
    const settings = settingsWith({ store })
    const start: CountedThreadStart = {
      ...{ dir, options: { ...store, stateConnections: 2 }, shared, stopAt },
      settings: { markets: { feeds: settings.markets.feeds } },
    }
    const thread = openThread(new URL('../../test/counted-market-thread.ts', import.meta.url), start)
    try {
      const stop = new AbortController()
      const call = thread.call(name, input, stop.signal).then(
        () => false,
        () => true,
      )
      if (stopAt > 0) {
        for (let count = 0; count < stopAt; count = Atomics.load(shared, 0))
          await Atomics.waitAsync(shared, 0, count).value
        stop.abort()
        Atomics.store(shared, 1, 1)
        Atomics.notify(shared, 1)
      }
      const isAborted = await call
      // A later call of the same thread ends after everything that the first one has begun.
      if (stopAt > 0) await thread.call('none', undefined).catch(() => {})
      return { units: Atomics.load(shared, 0), isAborted }
    } finally {
      await thread.close()
    }
  }
}

describe('on SQLite', () => testEngine(async () => ({ store: {}, async [Symbol.asyncDispose]() {} })))

describe('on PostgreSQL', { skip: noPostgres }, () =>
  testEngine(async () => {
    const server = await startPostgres()
    return { store: { state: await server.schema() }, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() }
  }),
)
