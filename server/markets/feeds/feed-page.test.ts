// Overlapping pages: a record that is read twice counts once.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { MarketFeed } from '#runtime/settings/markets.ts'
import { openContext, type TestContext, testRequestInfo } from '#test/context.ts'
import { type Scripted, serveScript } from '#test/scripted-server.ts'
import { bySlug } from '../endpoints/by-slug.ts'
import { listRejects } from '../read/rejected-records.ts'
import { parseFeedPage } from './feed-page.ts'
import { readFeed } from './read-feed.ts'

const market = (id: number, fields: object = {}) => ({ id: String(id), slug: `m-${id}`, ...fields })

const contextFor = (url: string) =>
  openContext({ markets: { feeds: [{ id: 'main', url, paging: { kind: 'offset', size: 3, overlap: 5 } }] } })

async function pass(context: TestContext) {
  const feed = context.settings.markets.feeds[0] as MarketFeed
  let over = false
  const work = readFeed(context, feed, { holder: 'test', signal: new AbortController().signal }).finally(() => {
    over = true
  })
  for (let round = 0; !over; round++) {
    assert.ok(round < 5000, 'in time')
    await new Promise((resolve) => setTimeout(resolve, 1))
    context.clock.advance(50)
  }
  return work
}

test('a source smaller than the overlap is counted once, and so are its rejects', async () => {
  const body = [market(1), market(2), market(3, { slug: null })]
  await using server = await serveScript({ body }, { body: body.slice(1) })
  await using context = await contextFor(server.url)
  const { pages, records, rejected } = await pass(context)
  assert.deepEqual({ pages, records, rejected }, { pages: 2, records: 3, rejected: 1 })
  const rejects = await listRejects(context.ingest, 10)
  assert.deepEqual(
    rejects.map(({ id, times, location }) => [id, times, location.replace(/^\S+ /, '')]),
    [['3', 1, 'page 1 record 3']],
  )
})

test('a record that changes between two pages is stored', async () => {
  const pages: Scripted[] = [{ body: [market(1), market(2)] }, { body: [market(2, { bestBid: 0.7 })] }]
  await using server = await serveScript(...pages)
  await using context = await contextFor(server.url)
  await pass(context)
  const outcome = await bySlug.handle({ slug: 'm-2', include_tag: true }, context, testRequestInfo())
  assert.match(outcome.is === 'bytes' ? Buffer.from(outcome.bytes).toString() : '', /"bestBid":0\.7/)
})

test('a page may have more records than a function has arguments', async () => {
  await using context = await contextFor('http://127.0.0.1:9/markets')
  const records = Array.from({ length: 200_000 }, (_, at) => ({
    updatedAt: new Date(1_790_000_000_000 + at).toISOString(),
  }))
  const { newestMs } = parseFeedPage(records, context.settings.markets.feeds[0] as MarketFeed, '')
  assert.equal(newestMs, 1_790_000_199_999)
})
