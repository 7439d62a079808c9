// Lists of markets, series and tags and the search from a standby of PostgreSQL: the coverage that a response reports
// belongs to its records, even if the primary has more of both.
import { strict as assert } from 'node:assert'
import { rm } from 'node:fs/promises'
import { test } from 'node:test'
import type { Endpoint } from '#api/contract/kit.ts'
import type { Handler } from '#http/handler.ts'
import { parser } from '#http/parse.ts'
import { createMarketsCaches, type MarketsContext } from '#markets/context.ts'
import { events } from '#markets/extensions/lists/list-events.ts'
import { list, listKeyset } from '#markets/extensions/lists/list-markets.ts'
import { series } from '#markets/extensions/lists/list-series.ts'
import { tags } from '#markets/extensions/lists/list-tags.ts'
import { publicSearch } from '#markets/extensions/search/public-search.ts'
import { search } from '#markets/extensions/search/search.ts'
import { storeFeedState } from '#markets/feeds/feed-progress.ts'
import { newFeedState } from '#markets/read/feed-state.ts'
import { putMarkets } from '#markets/write/put-markets.ts'
import { silentLog } from '#runtime/log.ts'
import { createContext } from '#server/context.ts'
import { openStores } from '#storage/open.ts'
import type { State } from '#storage/state.ts'
import { dutiesOnThisThread } from '#validators/duties/store.ts'
import { seededRandom, settingsWith, testNowMs, testRequestInfo } from './context.ts'
import { ManualClock } from './manual-clock.ts'
import { noPostgres, startPostgres } from './postgres.ts'
import { ownFolder } from './programs.ts'
import { waitUntil } from './wait-until.ts'

/** Each finds the records of the round and reports the coverage. */
const reads = {
  list,
  listKeyset,
  events,
  series,
  tags,
  search,
  publicSearch,
} as Readonly<Record<string, Handler<Endpoint, MarketsContext>>>

test('a list or a search never reports coverage for records that its replica lacks', { skip: noPostgres }, async () => {
  await using server = await startPostgres()
  await using standby = await server.standby()
  const url = await server.schema()
  const replicaUrl = url.replace(`:${server.port}/`, `:${standby.port}/`)
  await using resources = new AsyncDisposableStack()
  const open = async (stateReplicas: readonly string[]) => {
    const dir = await ownFolder('replica-lists')
    resources.defer(() => rm(dir, { recursive: true, force: true }))
    const store = { state: url, stateReplicas, stateConnections: 2 }
    return { store, stores: resources.adopt(await openStores(dir, store), (opened) => opened.close()) }
  }
  const { store, stores } = await open([replicaUrl])
  const otherServer = (await open([])).stores.ingest
  const feeds = [{ id: 'source', url: 'http://feeds.test/markets' }]
  const context = createContext({
    ...stores,
    duties: dutiesOnThisThread(stores.duties),
    settings: settingsWith({ store, markets: { feeds } }),
    clock: new ManualClock(testNowMs),
    random: seededRandom('replicas'),
    log: silentLog,
  })

  /** One round of another server: new records, and then the pass that contains them. */
  const readPass = (ingest: State, round: number) =>
    ingest.write(
      async (tx) => {
        const [id, atMs] = [String(round), testNowMs + round]
        const slug = `record-${round}`
        await putMarkets(
          tx,
          [
            { kind: 'tag', id, fields: { slug, label: slug } },
            { kind: 'series', id, fields: { slug, title: slug } },
            { kind: 'event', id, fields: { slug, title: slug }, links: { series: [id] } },
            { kind: 'market', id, fields: { slug, question: 'Record?' }, links: { tags: [id], events: [id] } },
          ],
          atMs,
        )
        await storeFeedState(tx, { ...newFeedState('source'), fullAtMs: atMs, doneAtMs: atMs, asOfMs: atMs })
      },
      { lock: 'markets' },
    )

  /** The newest round that the response has, and the one that it reports. */
  const ask = async (handler: Handler<Endpoint, MarketsContext>) => {
    // A server that has not read the coverage since it started.
    const markets = createMarketsCaches(context.clock)
    const query = { order: 'id', ascending: 'false', limit: '50', q: 'record' }
    const parts = { params: query, query, headers: {}, contentType: '', body: undefined }
    const result = await handler.handle(parser(handler.endpoint)(parts), { ...context, markets }, testRequestInfo())
    assert.ok(result.is === 'bytes' || result.is === 'body')
    const text = result.is === 'bytes' ? Buffer.from(result.bytes).toString() : JSON.stringify(result.body)
    const asOf = result.headers?.['x-tetrad-as-of'] ?? result.confidence?.asOf
    const found = [...text.matchAll(/record-(\d+)/g)].map(([, round]) => Number(round))
    return { has: Math.max(-1, ...found), reports: Date.parse(String(asOf)) - testNowMs }
  }

  await readPass(otherServer, 0)
  const [, schema] = /search_path=(\w+)/.exec(decodeURIComponent(url)) ?? assert.fail()
  const asOfMs = `select as_of_ms::text as ms from ${schema}.market_feeds`
  let stale = 0
  for (const [round, first] of Object.keys(reads).entries()) {
    await standby.sql('select pg_wal_replay_resume()')
    await waitUntil(async () => (await standby.sql<{ ms: string }>(asOfMs))?.ms === String(testNowMs + round))
    await standby.sql('select pg_wal_replay_pause()')
    await readPass(otherServer, round + 1)
    // This server notices the commit within half a second, and then no longer uses the replica.
    for (const name of [first, ...Object.keys(reads)]) {
      const { has, reports } = await ask(reads[name] ?? assert.fail())
      assert.ok(has >= reports, `${name} has the records of round ${has}, but reports the coverage of round ${reports}`)
      if (has <= round) stale += 1
    }
  }
  assert.ok(stale > 0, 'the replica has answered')
})
