// A page of a feed is written in parts. If it is interrupted at any part, nothing is lost and nothing is duplicated.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { MarketFeed } from '#runtime/settings/markets.ts'
import { stateWith } from '#test/authorization.ts'
import { openContext, type TestContext, testNowMs } from '#test/context.ts'
import { serveScript } from '#test/scripted-server.ts'
import { readFeedState } from './feed-state.ts'
import { readFeed } from './read-feed.ts'

/** 30 events of 20 markets, 22 records each; one market has no slug. */
const events = (bestBid: number) =>
  Array.from({ length: 30 }, (_, at) => ({
    id: `e${at}`,
    slug: `event-${at}`,
    updatedAt: new Date(testNowMs - 60_000).toISOString(),
    tags: [{ id: 't', label: 'Ports', oddity: 1 }],
    markets: Array.from({ length: 20 }, (_, below) => ({
      id: `${at}-${below}`,
      question: 'Open?',
      bestBid,
      active: true,
      slug: at === 3 && below === 0 ? null : `m-${at}-${below}`,
    })),
  }))

async function contextFor(url: string): Promise<{ context: TestContext; feed: MarketFeed }> {
  const paging = { kind: 'offset', size: 30, overlap: 0 }
  const context = await openContext({
    markets: { feeds: [{ id: 'main', url, record: 'event', perSecond: 1000, paging }] },
  })
  return { context, feed: context.settings.markets.feeds[0] as MarketFeed }
}

const pass = async (context: TestContext, feed: MarketFeed) => {
  const reading = readFeed(context, feed, { holder: 'test', signal: new AbortController().signal })
  const clock = setInterval(() => context.clock.advance(10), 1)
  return reading.finally(() => clearInterval(clock))
}

/** Everything that a page writes, without times. */
async function leftBy({ state }: TestContext) {
  const tables = {
    records: 'select kind, id, fields, links, changes_since_snapshot from market_records order by kind, id',
    versions: 'select kind, id, change_type, diff from market_versions order by seq',
    documents: 'select market_id, etag, vanished_ms from market_documents order by market_id',
    presence: 'select source, market_id, full_pass from market_feed_presence order by market_id',
    rejects: 'select kind, id, field, times from market_rejects order by id',
    drift: 'select kind, field, records from market_drift order by kind, field',
    feeds: 'select source, pass, cursor, page, full_pass from market_feeds',
  }
  const rows = await Promise.all(Object.entries(tables).map(async ([name, sql]) => [name, await state.all(sql)]))
  return Object.fromEntries(rows)
}

test('a transaction has about 200 records, and the cursor moves with the last part', async () => {
  await using server = await serveScript({ body: events(0.5) }, { body: [] })
  const { context, feed } = await contextFor(server.url)
  const sizes: number[] = []
  const pages: (number | undefined)[] = []
  const state = stateWith(context.state, {
    write: async (work, options) => {
      const before = await counted(context)
      const result = await context.state.write(work, options)
      sizes.push((await counted(context)) - before)
      pages.push((await readFeedState(context.state, 'main'))?.page)
      return result
    },
  })
  const report = await pass({ ...context, state }, feed)
  assert.deepEqual([report.pages, report.records, report.rejected], [2, 30, 1])
  const [largest] = sizes.toSorted((a, b) => b - a)
  assert.ok(largest !== undefined && largest <= 222 && largest >= 150, `${largest} records`)
  // The lock, three parts of the first page, the empty page that ends the pass.
  assert.deepEqual(pages.slice(0, 5), [0, 0, 0, 1, 0])
  await context[Symbol.asyncDispose]()
})

const counted = async ({ state }: TestContext) =>
  (await state.get<{ n: number }>('select count(*) as n from market_records'))?.n ?? 0

test('a page that is interrupted at any part and read again gives the same result', async () => {
  await using server = await serveScript(({ url }) => {
    const { pathname, searchParams } = new URL(url, 'http://feed.test')
    return { body: searchParams.get('offset') === '0' ? events(pathname === '/later' ? 0.7 : 0.5) : [] }
  })
  const run = async (cutAt: number) => {
    const { context, feed } = await contextFor(server.url)
    const later = { ...feed, url: `${server.url}/later` }
    await pass(context, feed)
    let writes = 0
    const state = stateWith(context.state, {
      write: (work, options) => {
        writes += 1
        return writes === cutAt ? Promise.reject(new Error('cut off')) : context.state.write(work, options)
      },
    })
    if (cutAt > 0) await assert.rejects(pass({ ...context, state }, later), /cut off/)
    await pass(context, later)
    const left = await leftBy(context)
    await context[Symbol.asyncDispose]()
    return left
  }
  const whole = await run(0)
  assert.ok(whole.versions.length > 1200)
  // The first write locks the feed; the next three are the page.
  for (const cutAt of [2, 3, 4]) assert.deepEqual(await run(cutAt), whole, `cut at write ${cutAt}`)
})
