// How many statements a feed takes where each of them is a round trip.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { MarketFeed } from '#runtime/settings/markets.ts'
import type { State } from '#storage/state.ts'
import { stateWith } from '#test/authorization.ts'
import { openContext, testNowMs } from '#test/context.ts'
import { countStatements } from '#test/count-statements.ts'
import { listDocuments } from '#test/market-documents.ts'
import { serveScript } from '#test/scripted-server.ts'
import { slowColumns } from '../records/list-columns.ts'
import { readFeed } from './read-feed.ts'

const updatedAt = new Date(testNowMs - 60_000).toISOString()

/** Markets of events of ten, with tags that many of them share. */
const marketsOf = (from: number, until: number, bestBid: number) =>
  Array.from({ length: until - from }, (_, index) => {
    const at = from + index
    const event = Math.floor(at / 10)
    return {
      ...{
        id: String(at),
        slug: `market-${at}`,
        question: `Will it open on day ${at}?`,
        bestBid,
        active: true,
        updatedAt,
      },
      ...{ conditionId: `0x${at}`, clobTokenIds: JSON.stringify([`${at}1`, `${at}2`]), oddity: 1 },
      events: [
        { id: `e${event}`, slug: `event-${event}`, title: `Event ${event}`, tags: [{ id: 't0', label: 'Ports' }] },
      ],
      tags: [1 + (at % 3), 4 + (at % 5)].map((tag) => ({ id: `t${tag}`, label: `Tag ${tag}` })),
      imageOptimized: { id: `i${at}`, imageUrlSource: `https://images.example/${at}` },
    }
  })

async function readAll(engine: State['engine'], count: number, size: number) {
  let bestBid = 0.5
  await using server = await serveScript(({ url }) => {
    const offset = Number(new URL(url, 'http://feed').searchParams.get('offset') ?? 0)
    return { body: marketsOf(offset, Math.min(count, offset + size), bestBid) }
  })
  const paging = { kind: 'offset', size, overlap: 0 }
  const feeds = [{ id: 'main', url: server.url, record: 'market', perSecond: 1000, paging }]
  await using context = await openContext({ markets: { feeds } })
  // The sizes of the engine on any database.
  const { state, counts } = countStatements(stateWith(context.ingest, { engine }))
  const feed = context.settings.markets.feeds[0] as MarketFeed
  const statements: number[] = []
  const clock = setInterval(() => context.clock.advance(10), 1)
  for (const bid of [0.5, 0.6]) {
    bestBid = bid
    const before = counts.statements
    const options = { holder: 'test', signal: new AbortController().signal, full: true }
    await readFeed({ ...context, ingest: state }, feed, options)
    statements.push(counts.statements - before)
  }
  clearInterval(clock)
  const rows = await Promise.all(
    [
      'select kind, id, slug, title, fields, links, extra_fields, changes_since_snapshot from market_records order by kind, id',
      'select * from market_links order by 1, 2, 3, 4',
      'select slug, market_id, rank from market_slugs order by 1, 2',
      'select * from market_keys order by 1, 2, 3',
      `select kind, id, number, ${slowColumns.join()} from market_list order by kind, id`,
      'select kind, id, change_type, diff from market_versions order by seq',
      'select * from market_search order by 1',
      'select * from market_words order by 1, 2',
      'select source, full_pass, markets from market_feed_presence order by 1, 2',
      'select kind, field, problem, records from market_drift order by 1, 2, 3',
    ].map((sql) => context.ingest.all(sql)),
  )
  rows.push((await listDocuments(context.ingest)).map(({ id, etag }) => ({ id, etag })))
  return { statements, rows, counts }
}

test('a feed of 10 000 markets takes at most one statement per 20 markets, new and changed ones', async () => {
  const { statements, rows, counts } = await readAll('postgres', 10_000, 1000)
  assert.equal(rows.at(-1)?.length, 10_000)
  const most = [...counts.byText].sort(([, a], [, b]) => b - a).slice(0, 10)
  for (const count of statements) assert.ok(count <= 10_000 / 20, `${count}: ${JSON.stringify(most)}`)
})

test('the stored rows do not depend on the size of a transaction', async () => {
  const [small, large] = [await readAll('sqlite', 300, 300), await readAll('postgres', 300, 300)]
  assert.deepEqual(large.rows, small.rows)
  assert.ok(large.counts.transactions < small.counts.transactions)
})
