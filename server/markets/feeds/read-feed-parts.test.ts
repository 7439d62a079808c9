// A page of a feed is written in parts. If it is interrupted at any part, nothing is lost and nothing is duplicated.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { MarketFeed } from '#runtime/settings/markets.ts'
import { stateWith } from '#test/authorization.ts'
import { openContext, type TestContext, testNowMs } from '#test/context.ts'
import { listDocuments } from '#test/market-documents.ts'
import { serveScript } from '#test/scripted-server.ts'
import { readFeedState } from '../read/feed-state.ts'
import { readVersionsAfter } from '../read/versions-after.ts'
import { type PassOptions, readFeed } from './read-feed.ts'

/** Events of 20 markets, 22 records each; one market has no slug. */
const events = (bestBid: number, count = 30) =>
  Array.from({ length: count }, (_, at) => ({
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

async function contextFor(url: string, size = 30): Promise<{ context: TestContext; feed: MarketFeed }> {
  const paging = { kind: 'offset', size, overlap: 0 }
  const context = await openContext({
    markets: { feeds: [{ id: 'main', url, record: 'event', perSecond: 1000, paging }] },
  })
  return { context, feed: context.settings.markets.feeds[0] as MarketFeed }
}

const pass = async (context: TestContext, feed: MarketFeed, options: Partial<PassOptions> = {}) => {
  const reading = readFeed(context, feed, { holder: 'test', signal: new AbortController().signal, ...options })
  const clock = setInterval(() => context.clock.advance(10), 1)
  return reading.finally(() => clearInterval(clock))
}

/** Everything that a page writes, without times. */
async function leftBy({ ingest }: TestContext) {
  const tables = {
    records: 'select kind, id, fields, links, changes_since_snapshot from market_records order by kind, id',
    presence: 'select source, full_pass, markets from market_feed_presence order by 1, 2',
    rejects: 'select kind, id, field, times from market_rejects order by id',
    drift: 'select kind, field, records from market_drift order by kind, field',
    feeds: 'select source, pass, cursor, page, full_pass from market_feeds',
  }
  const rows = await Promise.all(Object.entries(tables).map(async ([name, sql]) => [name, await ingest.all(sql)]))
  const documents = (await listDocuments(ingest)).map(({ etag, vanishedMs }) => ({ etag, vanishedMs }))
  const versions = (await readVersionsAfter(ingest, { after: 0, until: 1e6 }, 1e6, {}, 1e6)).map(
    ({ kind, id, changeType, diff }) => ({ kind, id, changeType, diff }),
  )
  return { ...Object.fromEntries(rows), versions, documents }
}

test('a transaction has about 100 markets, and the cursor moves after the last part', async () => {
  await using server = await serveScript({ body: events(0.5) }, { body: [] })
  const { context, feed } = await contextFor(server.url)
  const sizes: number[] = []
  const pages: (number | undefined)[] = []
  const state = stateWith(context.ingest, {
    write: async (work, options) => {
      const before = await counted(context)
      const result = await context.ingest.write(work, options)
      sizes.push((await counted(context)) - before)
      pages.push((await readFeedState(context.ingest, 'main'))?.page)
      return result
    },
  })
  const report = await pass({ ...context, ingest: state }, feed)
  assert.deepEqual([report.pages, report.records, report.rejected], [2, 30, 1])
  const [largest] = sizes.toSorted((a, b) => b - a)
  assert.ok(largest !== undefined && largest <= 132 && largest >= 100, `${largest} records`)
  // The lock, and 6 parts of the first page, with the cursor.
  assert.deepEqual(pages.slice(0, 7), [...Array.from({ length: 6 }, () => 0), 1])
  await context[Symbol.asyncDispose]()
})

const counted = async ({ ingest }: TestContext) =>
  (await ingest.get<{ n: number }>('select count(*) as n from market_records'))?.n ?? 0

test('a page that is interrupted at any part and read again gives the same result', async () => {
  const count = 10
  await using server = await serveScript(({ url }) => {
    const { pathname, searchParams } = new URL(url, 'http://feed.test')
    return { body: searchParams.get('offset') === '0' ? events(pathname === '/later' ? 0.7 : 0.5, count) : [] }
  })
  const run = async (cutAt: number) => {
    const { context, feed } = await contextFor(server.url, count)
    const later = { ...feed, url: `${server.url}/later` }
    await pass(context, feed)
    let writes = 0
    const state = stateWith(context.ingest, {
      write: (work, options) => {
        writes += 1
        return writes === cutAt ? Promise.reject(new Error('cut off')) : context.ingest.write(work, options)
      },
    })
    if (cutAt > 0) await assert.rejects(pass({ ...context, ingest: state }, later), /cut off/)
    await pass(context, later)
    const left = await leftBy(context)
    await context[Symbol.asyncDispose]()
    return left
  }
  const whole = await run(0)
  assert.ok(whole.versions.length > 400)
  // The first write locks the feed; the next are parts of the page, the cursor moves with the last.
  for (const cutAt of [2, 3]) assert.deepEqual(await run(cutAt), whole, `cut at write ${cutAt}`)
})

test('the markets of a pass take one row, and only the last passes are kept', async () => {
  await using server = await serveScript(({ url }) => {
    return { body: new URL(url, 'http://feed.test').searchParams.get('offset') === '0' ? events(0.5) : [] }
  })
  const { context, feed } = await contextFor(server.url)
  let writes = 0
  const state = stateWith(context.ingest, {
    write: (work, options) =>
      context.ingest.write((tx) => {
        const run: typeof tx.run = (sql, ...values) => {
          writes += Number(sql.startsWith('insert into market_feed_presence'))
          return tx.run(sql, ...values)
        }
        return work({ ...tx, run })
      }, options),
  })
  for (let count = 0; count < 5; count++) await pass({ ...context, ingest: state }, feed, { full: true })
  const rows = await context.ingest.all('select full_pass from market_feed_presence order by 1')
  assert.deepEqual(rows, [{ full_pass: 4 }, { full_pass: 5 }], 'as many as vanishAfter')
  // Once for each part of a page. There are 600 markets.
  assert.ok(writes <= 5 * 8, `${writes} writes`)
  await context[Symbol.asyncDispose]()
})
