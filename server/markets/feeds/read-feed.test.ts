// Reading a feed: passes, pages, rate limits, failures and vanished markets.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { coverageReport } from '#operations/coverage.ts'
import { storeDiagnoses } from '#operations/doctor.ts'
import type { MarketFeed } from '#runtime/settings/markets.ts'
import { openContext, type TestContext, testNowMs, testRequestInfo } from '#test/context.ts'
import { type Scripted, serveScript as serveSteps } from '#test/scripted-server.ts'
import { bySlug } from '../endpoints/by-slug.ts'
import { newFeedState, readFeedState } from '../read/feed-state.ts'
import { listRejects } from '../read/rejected-records.ts'
import { listDrift } from '../write/drift.ts'
import { storeFeedState } from './feed-progress.ts'
import { type PassOptions, readFeed } from './read-feed.ts'
import { marketFindings, startMarkets } from './start-markets.ts'

const market = (id: number, fields: object = {}) => ({
  id: String(id),
  slug: `m-${id}`,
  updatedAt: new Date(testNowMs - 60_000 + id).toISOString(),
  ...fields,
})
const pageOf = (...ids: number[]): Scripted => ({ body: ids.map((id) => market(id)) })
const nothing: Scripted = { body: [] }

async function contextFor(url: string, feed: object = {}): Promise<{ context: TestContext; feed: MarketFeed }> {
  const paging = { kind: 'offset', size: 2, overlap: 0 }
  const context = await openContext({
    markets: { feeds: [{ id: 'main', url, perSecond: 10, pagesMax: 50, paging, ...feed }] },
  })
  return { context, feed: context.settings.markets.feeds[0] as MarketFeed }
}

/** Advances the clock until the work is done. */
async function run<T>(context: TestContext, work: Promise<T>, stepMs = 50): Promise<T> {
  let over = false
  void work
    .catch(() => {})
    .finally(() => {
      over = true
    })
  while (!over) {
    await new Promise((resolve) => setImmediate(resolve))
    context.clock.advance(stepMs)
  }
  return work
}

const pass = (context: TestContext, feed: MarketFeed, options: Partial<PassOptions> = {}) =>
  run(context, readFeed(context, feed, { holder: 'test', signal: new AbortController().signal, ...options }))

const slugsOf = async (context: TestContext) =>
  (
    await context.ingest.all<{ slug: string }>("select slug from market_records where kind = 'market' order by slug")
  ).map(({ slug }) => slug)

/** A feed with scripted pages. The last page of a pass is requested twice and is the same both times. */
const listVanished = ({ ingest }: TestContext) =>
  ingest.all<{ id: string; slug: string }>(
    'select id, slug from market_records where vanished_ms is not null order by id',
  )

function serveScript(...steps: Scripted[]) {
  let at = -1
  let repeatable: string | undefined
  return serveSteps(({ url }) => {
    const isRepeated = url === repeatable
    if (!isRepeated) at += 1
    const step = steps[Math.min(at, steps.length - 1)] ?? {}
    const isPage = (step.status ?? 200) === 200 && !step.instead && typeof step.body !== 'string'
    repeatable = isPage && !isRepeated ? url : undefined
    return step
  })
}

/** Without the second request for the last page. */
const queries = (urls: readonly { url: string }[]) =>
  urls.map(({ url }) => url.replace(/^[^?]*\?/, '')).filter((query, at, all) => query !== all[at - 1])

describe('pages', () => {
  test('by offset: reads until a page has nothing new, with the configured overlap', async () => {
    await using server = await serveScript(pageOf(1, 2, 3), pageOf(3, 4, 5), pageOf(5))
    const { context, feed } = await contextFor(server.url, { paging: { kind: 'offset', size: 3, overlap: 1 } })
    const report = await pass(context, feed)
    assert.deepEqual(queries(server.requests), ['limit=3&offset=0', 'limit=3&offset=2', 'limit=3&offset=4'])
    assert.deepEqual([report.pages, report.records], [3, 5], 'overlapping records count once')
    assert.deepEqual(await slugsOf(context), ['m-1', 'm-2', 'm-3', 'm-4', 'm-5'])
    await context[Symbol.asyncDispose]()
  })

  test('by cursor in the page, and by a field of the last record', async () => {
    await using server = await serveScript(
      { body: { data: [market(1)], meta: { next: 'abc' } } },
      { body: { data: [market(2)], meta: { next: null } } },
      pageOf(3),
      pageOf(4),
      nothing,
    )
    const inPage = { list: 'data', paging: { kind: 'keyset', cursor: 'after', next: 'meta.next' } }
    const one = await contextFor(server.url, inPage)
    await pass(one.context, one.feed)
    const last = { query: { all: '1' }, paging: { kind: 'keyset', limit: '', cursor: 'since_id', next: 'last.id' } }
    const two = await contextFor(server.url, last)
    await pass(two.context, two.feed)
    assert.deepEqual(queries(server.requests), [
      ...['limit=100', 'limit=100&after=abc'],
      ...['all=1', 'all=1&since_id=3', 'all=1&since_id=4'],
    ])
    assert.deepEqual(await slugsOf(two.context), ['m-3', 'm-4'])
    await one.context[Symbol.asyncDispose]()
    await two.context[Symbol.asyncDispose]()
  })

  test('by page number: reads until a page is empty, or the last page repeats', async () => {
    await using server = await serveScript(pageOf(1, 2), pageOf(3), nothing)
    const paging = { kind: 'page', size: 2, page: 'p', limit: 'per_page' }
    const { context, feed } = await contextFor(server.url, { paging })
    const { records, end } = await pass(context, feed)
    assert.deepEqual([records, end], [3, 'end'])
    assert.deepEqual(queries(server.requests), ['per_page=2&p=1', 'per_page=2&p=2', 'per_page=2&p=3'])
    await using clamping = await serveScript(pageOf(1, 2), pageOf(3), pageOf(3))
    const fromZero = await contextFor(clamping.url, { paging: { ...paging, firstPage: 0 } })
    assert.equal((await pass(fromZero.context, fromZero.feed)).end, 'last page repeats')
    assert.deepEqual(
      queries(clamping.requests).map((query) => new URLSearchParams(query).get('p')),
      ['0', '1', '2'],
    )
    await context[Symbol.asyncDispose]()
    await fromZero.context[Symbol.asyncDispose]()
  })

  test('a source without pages is one page, requested without a limit', async () => {
    await using server = await serveSteps(pageOf(1, 2, 3))
    const { context, feed } = await contextFor(server.url, { paging: { kind: 'none' }, query: { all: '1' } })
    const { pages, records, end } = await pass(context, feed)
    assert.deepEqual([pages, records, end], [1, 3, 'end'])
    assert.deepEqual(queries(server.requests), ['all=1'])
    await context[Symbol.asyncDispose]()
  })

  test('a cursor that leads to itself ends the pass, and too many pages are an error', async () => {
    await using circle = await serveScript({ body: { data: [market(1)], next_cursor: 'same' } })
    const one = await contextFor(circle.url, { list: 'data', paging: { kind: 'keyset' } })
    assert.equal((await pass(one.context, one.feed)).pages, 2)
    await using endless = await serveScript(pageOf(1, 2), pageOf(3, 4), pageOf(5, 6), pageOf(7, 8))
    const two = await contextFor(endless.url, { pagesMax: 3 })
    await assert.rejects(pass(two.context, two.feed), /more than 3 pages/)
    await one.context[Symbol.asyncDispose]()
    await two.context[Symbol.asyncDispose]()
  })
})

describe('pages that repeat', () => {
  const finding = async (context: TestContext) => (await marketFindings(context))[0]

  test('a source that ignores the offset: the pass ends, does not count as complete, and is reported', async () => {
    await using server = await serveSteps(pageOf(1, 2))
    const { context, feed } = await contextFor(server.url)
    const report = await pass(context, feed)
    assert.deepEqual([report.pages, report.records, report.end], [2, 2, 'page repeats'])
    assert.equal(server.requests.length, 3, 'the page that ends the pass is requested twice')
    assert.deepEqual(await slugsOf(context), ['m-1', 'm-2'])
    assert.equal((await readFeedState(context.ingest, 'main'))?.fullAtMs, null)
    const { ok, message = '' } = (await finding(context)) ?? {}
    assert.equal(ok, false)
    assert.match(message, /ended at a page that repeats .* after 2 pages with 2 records/)
    const doctor = (await storeDiagnoses(context, 0)).find(({ name }) => name === 'feed main')
    assert.match(
      `${doctor?.level}: ${doctor?.message} → ${doctor?.todo}`,
      /^fail: .* repeats .* → .*paging\.kind: none/,
    )
    await context[Symbol.asyncDispose]()
  })

  test('a source that starts to repeat after a complete pass: markets do not vanish, and the feed is not ready', async () => {
    await using server = await serveScript(pageOf(1, 2), pageOf(3, 4), nothing, pageOf(1, 2))
    const { context, feed } = await contextFor(server.url, { vanishAfter: 1 })
    assert.equal((await pass(context, feed)).end, 'end')
    assert.match((await finding(context))?.message ?? '', /^last pass .* old, 3 pages with 4 records$/)
    const asOf = (await readFeedState(context.ingest, 'main'))?.asOfMs
    context.clock.advance(1000)
    const { end, vanished } = await pass(context, feed)
    assert.deepEqual([end, vanished], ['page repeats', 0])
    assert.equal((await readFeedState(context.ingest, 'main'))?.asOfMs, asOf, 'responses are based on the pass before')
    assert.equal((await finding(context))?.ok, false)
    await context[Symbol.asyncDispose]()
  })

  test('cursors that lead in a circle', async () => {
    const steps: Record<string, Scripted> = {
      '': { body: { data: [market(1)], next_cursor: 'b' } },
      b: { body: { data: [market(2)], next_cursor: 'c' } },
      c: { body: { data: [market(3)], next_cursor: 'b' } },
    }
    await using server = await serveSteps(
      ({ url }) => steps[new URL(url, 'http://feed').searchParams.get('cursor') ?? ''] ?? nothing,
    )
    const { context, feed } = await contextFor(server.url, { list: 'data', paging: { kind: 'keyset' } })
    const { pages, records, end } = await pass(context, feed)
    assert.deepEqual([pages, records, end], [4, 3, 'page repeats'])
    await context[Symbol.asyncDispose]()
  })

  test('a source that returns its last page again beyond the end has been read completely', async () => {
    await using server = await serveSteps(pageOf(1, 2), pageOf(3), pageOf(3))
    const { context, feed } = await contextFor(server.url, { staleMs: dayMs })
    const { pages, records, end } = await pass(context, feed)
    assert.deepEqual([pages, records, end], [3, 3, 'last page repeats'])
    assert.equal((await finding(context))?.ok, true)
    assert.match(
      (await finding(context))?.message ?? '',
      /^last pass .* old, 3 pages with 3 records; its last page repeats$/,
    )
    await context[Symbol.asyncDispose]()
  })

  test('a source that begins again at the end', async () => {
    await using server = await serveSteps(pageOf(1, 2), pageOf(3, 4), pageOf(1, 2))
    const { context, feed } = await contextFor(server.url)
    assert.equal((await pass(context, feed)).end, 'page repeats')
    await context[Symbol.asyncDispose]()
  })

  test('one repeated answer neither ends the pass nor leaves out records', async () => {
    await using server = await serveSteps(pageOf(1, 2), pageOf(1, 2), pageOf(3, 4), nothing)
    const { context, feed } = await contextFor(server.url)
    const { records, end } = await pass(context, feed)
    assert.deepEqual([records, end], [4, 'end'])
    assert.deepEqual(await slugsOf(context), ['m-1', 'm-2', 'm-3', 'm-4'])
    await context[Symbol.asyncDispose]()
  })

  test('a recent pass that ends at a page that repeats is read again from the same time', async () => {
    await using server = await serveScript(pageOf(1, 2), nothing, pageOf(3, 4))
    const { context, feed } = await contextFor(server.url, { recent: { since: 's' } })
    await pass(context, feed)
    const before = (await readFeedState(context.ingest, 'main'))?.readUntilMs
    const report = await pass(context, feed)
    assert.deepEqual([report.pass, report.end], ['recent', 'page repeats'])
    assert.equal((await readFeedState(context.ingest, 'main'))?.readUntilMs, before)
    await context[Symbol.asyncDispose]()
  })

  test('records are compared by their id under the name that the source uses, or as a whole without one', async () => {
    const record = (id: number, price: number) => ({ key: String(id), slug: `m-${id}`, price })
    let price = 0
    await using server = await serveSteps(() => ({ body: [record(1, price++), { note: 'no id' }] }))
    const { context, feed } = await contextFor(server.url, { fields: { market: { key: 'id' } } })
    const { records, end } = await pass(context, feed)
    assert.deepEqual([records, end], [2, 'page repeats'])
    await context[Symbol.asyncDispose]()
  })

  test('readiness shows the pages and records of the current pass too', async () => {
    const pages = [pageOf(1, 2), pageOf(3, 4), nothing]
    await using server = await serveScript(...pages, ...pages)
    const { context, feed } = await contextFor(server.url)
    const messages: Promise<string | undefined>[] = []
    const onPage = () => void messages.push(finding(context).then((one) => one?.message))
    await pass(context, feed, { onPage })
    await pass(context, feed, { onPage })
    const [first, , , again] = await Promise.all(messages)
    assert.equal(first, 'first full pass in progress, 1 page with 2 records')
    assert.match(again ?? '', /^last pass .* old, 3 pages with 4 records; this pass 1 page with 2 records$/)
    await context[Symbol.asyncDispose]()
  })
})

describe('a single wrong page', () => {
  test('an empty page does not end a pass if the next answer has records', async () => {
    await using server = await serveSteps(pageOf(1, 2), nothing, pageOf(3, 4), nothing)
    const { context, feed } = await contextFor(server.url)
    await pass(context, feed)
    assert.deepEqual(
      server.requests.map(({ url }) => new URL(url, 'http://feed').searchParams.get('offset')),
      ['0', '2', '2', '4', '4'],
    )
    assert.deepEqual(await slugsOf(context), ['m-1', 'm-2', 'm-3', 'm-4'])
    await context[Symbol.asyncDispose]()
  })

  test('of two last pages, the records of both are stored', async () => {
    await using server = await serveSteps(pageOf(1), pageOf(1, 2))
    const { context, feed } = await contextFor(server.url, {
      paging: { kind: 'offset', size: 2, overlap: 2 },
      pagesMax: 1,
    })
    await assert.rejects(pass(context, feed), /more than 1 page/)
    await using ending = await serveSteps({ body: { data: [market(1)] } }, { body: { data: [market(1), market(2)] } })
    const keyset = await contextFor(ending.url, { list: 'data', paging: { kind: 'keyset' } })
    assert.equal((await pass(keyset.context, keyset.feed)).pages, 1)
    assert.deepEqual(await slugsOf(keyset.context), ['m-1', 'm-2'])
    await context[Symbol.asyncDispose]()
    await keyset.context[Symbol.asyncDispose]()
  })

  test('a page that does not continue the previous one is requested again', async () => {
    await using server = await serveSteps(pageOf(1, 2, 3), pageOf(7, 8, 9), pageOf(3, 4, 5), pageOf(5))
    const { context, feed } = await contextFor(server.url, { paging: { kind: 'offset', size: 3, overlap: 1 } })
    await pass(context, feed)
    assert.deepEqual(await slugsOf(context), ['m-1', 'm-2', 'm-3', 'm-4', 'm-5'])
    await context[Symbol.asyncDispose]()
  })

  test('a record that is null makes the feed incomplete', async () => {
    await using server = await serveScript({ body: [market(1), null] }, nothing)
    const { context, feed } = await contextFor(server.url)
    assert.equal((await pass(context, feed)).rejected, 1)
    const outcome = await bySlug.handle({ slug: 'm-2', include_tag: true }, context, testRequestInfo())
    assert.deepEqual(outcome.is === 'nothing' && outcome.confidence?.coverage, 'feed:main;incomplete')
    await context[Symbol.asyncDispose]()
  })

  test('a market with a time in the future is replaced, and a vanished market loses its slug to a listed one', async () => {
    const future = new Date(testNowMs + 400 * 86_400_000).toISOString()
    const wrong = market(1, { id: '9', slug: 'm-1', question: 'wrong' })
    await using server = await serveScript(
      ...[{ body: [market(1, { updatedAt: future, question: 'wrong' }), wrong] }, nothing],
      ...[{ body: [market(1, { question: 'right' }), market(2)] }, nothing],
      ...[{ body: [market(1, { question: 'right' }), market(2)] }, nothing],
    )
    const { context, feed } = await contextFor(server.url, { vanishAfter: 2 })
    for (let passes = 0; passes < 3; passes++) await pass(context, feed, { full: true })
    assert.deepEqual(
      (await listVanished(context)).map(({ id }) => id),
      ['9'],
    )
    const outcome = await bySlug.handle({ slug: 'm-1', include_tag: true }, context, testRequestInfo())
    assert.match(outcome.is === 'bytes' ? Buffer.from(outcome.bytes).toString() : outcome.is, /"id":"1".*right/)
    await context[Symbol.asyncDispose]()
  })
})

describe('passes', () => {
  test('after a full pass, recent passes read changes with an overlap, until a full pass is due', async () => {
    await using server = await serveScript(pageOf(1, 2), nothing, pageOf(3), nothing, pageOf(1, 2, 3), nothing)
    const recent = { since: 'updated_since', overlapMs: 1000, query: { order: 'asc' } }
    const { context, feed } = await contextFor(server.url, { recent, fullEveryMs: 600_000 })
    assert.equal((await pass(context, feed)).pass, 'full')
    const mark = testNowMs - 60_000 + 2
    assert.equal((await readFeedState(context.ingest, 'main'))?.readUntilMs, mark)
    const second = await pass(context, feed)
    assert.deepEqual([second.pass, second.changed], ['recent', 1])
    const since = new URLSearchParams(queries(server.requests)[2])
    assert.deepEqual([since.get('updated_since'), since.get('order')], [new Date(mark - 1000).toISOString(), 'asc'])
    context.clock.advance(600_000)
    assert.equal((await pass(context, feed)).pass, 'full')
    await context[Symbol.asyncDispose]()
  })

  test('newest first: reading stops at known changes', async () => {
    const recent = { newestFirst: true, query: { order: 'newest' }, overlapMs: 0 }
    await using server = await serveScript(
      ...[pageOf(9, 8), nothing],
      ...[pageOf(12, 11), pageOf(9, 8), pageOf(7, 6), pageOf(5, 4)],
    )
    const { context, feed } = await contextFor(server.url, { recent })
    await pass(context, feed)
    const second = await pass(context, feed)
    assert.deepEqual([second.pass, second.pages], ['recent', 3])
    await context[Symbol.asyncDispose]()
  })

  test('newest first: an old record among new ones does not end the pass', async () => {
    const recent = { newestFirst: true, query: { order: 'newest' }, overlapMs: 0 }
    await using server = await serveScript(
      ...[pageOf(9, 8), nothing],
      ...[pageOf(1, 14), pageOf(13, 12), pageOf(9, 8), pageOf(7, 6)],
    )
    const { context, feed } = await contextFor(server.url, { recent })
    await pass(context, feed)
    await pass(context, feed)
    const slugs = await slugsOf(context)
    assert.ok(slugs.includes('m-13') && slugs.includes('m-12'), slugs.join())
    await context[Symbol.asyncDispose]()
  })

  test('readUntilMs is never later than the start of the pass', async () => {
    const late = { body: [market(1, { updatedAt: '2027-01-01T00:00:00Z' })] }
    await using server = await serveScript(late, nothing)
    const { context, feed } = await contextFor(server.url, { recent: { since: 's' } })
    await pass(context, feed)
    assert.equal((await readFeedState(context.ingest, 'main'))?.readUntilMs, testNowMs)
    await context[Symbol.asyncDispose]()
  })

  test('an interrupted pass continues at its next page', async () => {
    await using server = await serveScript(pageOf(1, 2), pageOf(3, 4), pageOf(5), nothing)
    const { context, feed } = await contextFor(server.url)
    const stop = new AbortController()
    await assert.rejects(pass(context, feed, { signal: stop.signal, onPage: () => stop.abort() }))
    await pass(context, feed, { holder: 'another' })
    assert.deepEqual(
      queries(server.requests).map((query) => new URLSearchParams(query).get('offset')),
      ['0', '2', '4', '5'],
    )
    assert.equal((await slugsOf(context)).length, 5)
    await context[Symbol.asyncDispose]()
  })

  test('the end of the lock is a whole number, as PostgreSQL requires', async () => {
    await using server = await serveScript(pageOf(1), nothing)
    const { context, feed } = await contextFor(server.url, { perSecond: 3 })
    await pass(context, feed)
    assert.ok(Number.isInteger((await readFeedState(context.ingest, 'main'))?.heldUntilMs))
    await context[Symbol.asyncDispose]()
  })

  test('one reader at a time; a reader that lost the lock writes nothing', async () => {
    await using server = await serveScript(pageOf(1, 2), pageOf(3, 4), nothing)
    const { context, feed } = await contextFor(server.url)
    let other: Promise<unknown> | undefined
    const onPage = () => {
      other ??= Promise.all([
        assert.rejects(readFeed(context, feed, { holder: 'b', signal: new AbortController().signal }), {
          name: 'FeedLocked',
        }),
        context.ingest.write((tx) => tx.run("update market_feeds set holder = 'thief'")),
      ])
    }
    await assert.rejects(pass(context, feed, { onPage }), { name: 'FeedLocked' })
    await other
    assert.equal((await readFeedState(context.ingest, 'main'))?.page, 1)
    await context[Symbol.asyncDispose]()
  })
})

describe('a clock that is set back', () => {
  const dayMs = 86_400_000
  const recent = { since: 's' }

  test('a pass in the future is neither ready nor fresh', async () => {
    await using server = await serveScript(pageOf(1), nothing)
    const { context, feed } = await contextFor(server.url, { staleMs: dayMs })
    context.clock.wrongByMs = 2 * dayMs
    await pass(context, feed)
    assert.deepEqual([(await marketFindings(context))[0]?.ok, await isFresh(context)], [true, true])
    context.clock.wrongByMs = 0
    const [finding] = await marketFindings(context)
    assert.equal(finding?.ok, false)
    assert.match(finding?.message ?? '', /^last pass \d.* ahead of this clock, 2 pages with 1 record$/)
    assert.equal(await isFresh(context), false)
    await context[Symbol.asyncDispose]()
  })

  const isFresh = async (context: TestContext) =>
    (await coverageReport(context)).streams.find(({ group }) => group === 'markets')?.fresh

  test('a full pass is due if the last one is further in the future than fullEveryMs', async () => {
    await using server = await serveScript(pageOf(1), nothing, pageOf(2), nothing, pageOf(1), nothing)
    const { context, feed } = await contextFor(server.url, { recent, fullEveryMs: dayMs })
    context.clock.wrongByMs = 2 * dayMs
    await pass(context, feed)
    assert.equal((await pass(context, feed)).pass, 'recent')
    context.clock.wrongByMs = 0
    assert.equal((await pass(context, feed)).pass, 'full')
    await context[Symbol.asyncDispose]()
  })

  test('the lock of a process that died is not kept longer than its time, and the feed does not count as being read', async () => {
    await using server = await serveScript(pageOf(1), nothing)
    const { context, feed } = await contextFor(server.url)
    const lock = { holder: 'dead', heldUntilMs: testNowMs + dayMs }
    await context.ingest.write((tx) => storeFeedState(tx, { ...newFeedState('main'), ...lock }))
    assert.equal((await coverageReport(context)).streams.find(({ group }) => group === 'markets')?.status, 'stale')
    assert.equal((await pass(context, feed)).pages, 2)
    await context[Symbol.asyncDispose]()
  })

  test('a full pass that fails on its first page does not count as one more pass without a market', async () => {
    const failed: Scripted = { status: 404 }
    await using server = await serveScript(pageOf(1, 2), nothing, failed, failed, pageOf(1), nothing)
    const { context, feed } = await contextFor(server.url)
    context.clock.wrongByMs = dayMs
    await pass(context, feed)
    context.clock.wrongByMs = 0
    for (const _ of [1, 2]) await assert.rejects(pass(context, feed))
    assert.equal((await pass(context, feed)).vanished, 0)
    await context[Symbol.asyncDispose]()
  })

  test('records rejected by a full pass stay rejected if the clock is set back during it', async () => {
    await using server = await serveScript(pageOf(1, 2), { body: [7] }, nothing)
    const { context, feed } = await contextFor(server.url)
    context.clock.wrongByMs = dayMs
    const onPage = () => {
      context.clock.wrongByMs = 0
    }
    await pass(context, feed, { onPage })
    assert.equal((await listRejects(context.ingest, 10)).length, 1)
    await context[Symbol.asyncDispose]()
  })
})

describe('rate limit and failures', () => {
  test('requests keep to the rate limit and to retry-after', async () => {
    await using server = await serveScript(
      pageOf(1, 2),
      { status: 429, headers: { 'retry-after': '7' } },
      { status: 500 },
      { body: '[{"cut' },
      nothing,
    )
    const { context, feed } = await contextFor(server.url, { perSecond: 0.5 })
    const startMs = context.clock.now()
    const report = await pass(context, feed)
    assert.equal(report.pages, 2)
    // 2 s between pages, 7 s by retry-after, then at least 2 s and 4 s.
    assert.ok(context.clock.now() - startMs >= 15_000, `${context.clock.now() - startMs} ms`)
    await context[Symbol.asyncDispose]()
  })

  test('permanent errors are not retried', async () => {
    await using server = await serveScript({ status: 404 })
    const { context, feed } = await contextFor(server.url)
    await assert.rejects(pass(context, feed), /status 404/)
    assert.equal(server.requests.length, 1)
    await context[Symbol.asyncDispose]()
  })

  test('rejects and drift are stored with location and reason', async () => {
    const body = [market(1, { slug: '' }), market(2, { oddity: { a: 1 }, spread: '0.1', active: 'yes' }), null, 7]
    await using server = await serveScript({ body }, nothing)
    const { context, feed } = await contextFor(server.url)
    assert.equal((await pass(context, feed)).rejected, 2)
    const rejects = await listRejects(context.ingest, 10)
    assert.deepEqual(
      rejects.map(({ id, field, reason, location }) => [id, field, reason, location.replace(/^\S+ /, '')]),
      [
        ['', '', 'must be an object', 'page 1 record 3'],
        ['1', 'slug', 'is required', 'page 1 record 1'],
      ],
    )
    assert.deepEqual(
      (await listDrift(context.ingest)).map(({ source, field, problem, sample }) => [source, field, problem, sample]),
      [
        ['main', 'active', 'left out', '"yes"'],
        ['main', 'oddity', 'unknown', '{"a":1}'],
        ['main', 'spread', 'converted', '"0.1"'],
      ],
    )
    await context[Symbol.asyncDispose]()
  })
})

describe('invalid values and records', () => {
  const request = async (context: TestContext, slug: string) => {
    const outcome = await bySlug.handle({ slug, include_tag: true }, context, testRequestInfo())
    assert.ok(outcome.is === 'bytes', outcome.is)
    return { body: JSON.parse(Buffer.from(outcome.bytes).toString()), headers: outcome.headers ?? {} }
  }
  const later = (fields: object) => ({ ...fields, updatedAt: new Date(testNowMs).toISOString() })

  test('a field with a wrong type neither hides a market nor stops its updates, at any depth', async () => {
    const image = { id: 9, imageSizeKbSource: '12', imageOptimizedComplete: 'no', relname: 'm' }
    const events = [
      { id: 10, title: 'Ten', volume: '7.5', endDate: '2026-01-02', series: 'none', tags: [{ id: 't' }, 5] },
    ]
    const changed = market(
      1,
      later({ bestBid: 0.6, spread: '0.01', active: 'yes', imageOptimized: image, events, tags: 'a,b' }),
    )
    const fresh = market(2, { spread: '0.02', iconOptimized: [], constructor: 1 })
    await using server = await serveScript(
      { body: [market(1, { bestBid: 0.5, active: true, tags: [{ id: 't', label: 'Ports' }] })] },
      nothing,
      { body: [changed, fresh] },
      nothing,
    )
    const { context, feed } = await contextFor(server.url)
    await pass(context, feed)
    assert.equal((await pass(context, feed)).rejected, 0)
    const { body, headers } = await request(context, 'm-1')
    const { updatedAt, events: shownEvents, ...marketFields } = body
    assert.deepEqual(marketFields, {
      id: '1',
      slug: 'm-1',
      bestBid: 0.6,
      spread: 0.01,
      imageOptimized: { id: '9', imageSizeKbSource: 12, relname: 'm' },
    })
    const [{ markets, ...event }] = shownEvents
    assert.deepEqual(event, {
      id: '10',
      title: 'Ten',
      volume: 7.5,
      endDate: '2026-01-02T00:00:00Z',
      tags: [{ id: 't', label: 'Ports' }],
    })
    assert.equal(headers['x-tetrad-coverage'], 'complete')
    assert.equal((await request(context, 'm-2')).body.spread, 0.02)
    assert.deepEqual(
      (await listDrift(context.ingest)).map(({ kind, field, problem }) => `${kind} ${field} ${problem}`),
      [
        ...['event endDate converted', 'event id converted', 'event series left out', 'event volume converted'],
        ...['image id converted', 'image imageOptimizedComplete left out', 'image imageSizeKbSource converted'],
        ...['market spread converted', 'market active left out', 'market constructor unknown'],
        ...['market iconOptimized left out', 'market tags left out'],
      ],
    )
    await context[Symbol.asyncDispose]()
  })

  test('a record without id or slug is visible in coverage, readiness and its response until it is corrected', async () => {
    const broken = [market(1, later({ slug: null, bestBid: 0.9 })), { slug: 'm-2', bestBid: 0.1 }]
    await using server = await serveScript(
      pageOf(1, 3),
      nothing,
      { body: [...broken, market(3)] },
      nothing,
      pageOf(1, 2, 3),
      nothing,
    )
    const { context, feed } = await contextFor(server.url)
    await pass(context, feed)
    const ownMs = Date.parse((await request(context, 'm-1')).headers['last-modified'] ?? '')
    context.clock.advance(60_000)
    const secondMs = context.clock.now()
    assert.equal((await pass(context, feed)).rejected, 2)
    const known = await request(context, 'm-1')
    assert.equal(known.headers['x-tetrad-coverage'], 'feed:main;incomplete')
    assert.equal(Math.floor(Date.parse(known.headers['x-tetrad-as-of'] ?? '') / 1000), Math.floor(ownMs / 1000))
    const other = await request(context, 'm-3')
    assert.equal(other.headers['x-tetrad-as-of'], new Date(secondMs).toISOString())
    await assert.rejects(request(context, 'm-2'), { code: 'markets.not_covered', publicMessage: /without an id/ })
    const [finding] = await marketFindings(context)
    // Passes look slow, because the clock moves with every turn.
    assert.ok(finding?.ok || finding?.required === false, 'one bad record does not take the server out of rotation')
    assert.match(finding?.message ?? '', /2 records have no id or no slug and cannot be stored/)
    await pass(context, feed)
    assert.deepEqual(await listRejects(context.ingest, 10), [])
    assert.equal((await request(context, 'm-2')).headers['x-tetrad-coverage'], 'complete')
    assert.doesNotMatch((await marketFindings(context))[0]?.message ?? '', /cannot be stored/)
    await context[Symbol.asyncDispose]()
  })

  test('a reject is deleted when the feed no longer lists the record', async () => {
    await using server = await serveScript({ body: [market(1), 7] }, nothing, pageOf(1), nothing)
    const { context, feed } = await contextFor(server.url)
    await pass(context, feed)
    assert.equal((await listRejects(context.ingest, 10)).length, 1)
    context.clock.advance(1000)
    await pass(context, feed)
    assert.deepEqual(await listRejects(context.ingest, 10), [])
    await context[Symbol.asyncDispose]()
  })
})

describe('vanished markets', () => {
  test('a market missing from two full passes is marked and still served; the mark is removed when it is listed again', async () => {
    const missing = [pageOf(1), nothing]
    await using server = await serveScript(pageOf(1, 2), nothing, ...missing, ...missing, pageOf(1, 2), nothing)
    const { context, feed } = await contextFor(server.url)
    const headersOf = async () => {
      const outcome = await bySlug.handle({ slug: 'm-2', include_tag: true }, context, testRequestInfo())
      return outcome.is === 'bytes' ? outcome.headers?.['x-tetrad-as-of'] : outcome.is
    }
    await pass(context, feed)
    const seenMs = context.clock.now()
    context.clock.advance(10_000)
    const secondMs = context.clock.now()
    assert.equal((await pass(context, feed)).vanished, 0)
    assert.equal(await headersOf(), new Date(secondMs).toISOString(), 'as of the start of the last pass')
    assert.equal((await pass(context, feed)).vanished, 1)
    assert.deepEqual(
      (await listVanished(context)).map(({ slug }) => slug),
      ['m-2'],
    )
    const marked = Date.parse((await headersOf()) ?? '')
    assert.ok(marked >= testNowMs && marked <= seenMs, 'the time it was last seen')
    const lastMs = context.clock.now()
    await pass(context, feed)
    assert.equal(await headersOf(), new Date(lastMs).toISOString())
    const log = await context.ingest.all<{ change_type: string }>(
      "select change_type from market_versions where id = '2' order by seq",
    )
    assert.deepEqual(
      log.map(({ change_type }) => change_type),
      ['created', 'vanished', 'returned'],
    )
    await context[Symbol.asyncDispose]()
  })

  const many = Array.from({ length: 50 }, (_, at) => at + 1)

  test('a feed that suddenly lists nothing is reported, and none of its markets is marked', async () => {
    const whole = [{ body: many.map((id) => market(id)) }, nothing]
    await using server = await serveScript(...whole, nothing, nothing, nothing, ...whole)
    const { context, feed } = await contextFor(server.url, { fullEveryMs: 1000 })
    await pass(context, feed)
    context.clock.advance(1000)
    const asOf = async () => {
      const outcome = await bySlug.handle({ slug: 'm-2', include_tag: true }, context, testRequestInfo())
      return outcome.is === 'bytes' ? outcome.headers?.['x-tetrad-as-of'] : outcome.is
    }
    const before = await asOf()
    for (let times = 0; times < 3; times++) {
      const { vanished, absent } = await pass(context, feed)
      assert.deepEqual([vanished, absent], [0, 50])
      context.clock.advance(1000)
    }
    assert.deepEqual(await listVanished(context), [])
    assert.equal(await asOf(), before, 'responses are based on the pass before')
    const [finding] = await marketFindings(context)
    assert.equal(finding?.ok, false)
    assert.match(finding?.message ?? '', /50 markets are missing/)
    const { absent } = await pass(context, feed)
    assert.equal(absent, 0)
    assert.equal((await marketFindings(context))[0]?.ok, true)
    assert.notEqual(await asOf(), before)
    await context[Symbol.asyncDispose]()
  })

  for (const [name, shown, share, expected] of [
    ['half of them may go', 25, 0.5, [25, 0]],
    ['more than half may not', 24, 0.5, [0, 26]],
    ['unless the operator says so', 0, 1, [50, 0]],
  ] as const) {
    test(`limit of markets that vanish at once: ${name}`, async () => {
      const some = { body: many.slice(0, shown).map((id) => market(id)) }
      const pages = shown > 0 ? [some, nothing] : [nothing]
      await using server = await serveScript({ body: many.map((id) => market(id)) }, nothing, ...pages)
      const { context, feed } = await contextFor(server.url, { vanishAfter: 1, vanishShareMax: share })
      await pass(context, feed)
      context.clock.advance(1000)
      const { vanished, absent } = await pass(context, feed)
      assert.deepEqual([vanished, absent], expected)
      await context[Symbol.asyncDispose]()
    })
  }

  test('a market that another feed lists has not vanished', async () => {
    await using one = await serveScript(pageOf(1, 2), nothing, pageOf(1), nothing)
    await using two = await serveScript(pageOf(2), nothing)
    const paging = { kind: 'offset', size: 2, overlap: 0 }
    const feeds = [one, two].map(({ url }, at) => ({ id: `feed-${at}`, url, paging, vanishAfter: 1 }))
    await using context = await openContext({ markets: { feeds } })
    const [first, second] = context.settings.markets.feeds as [MarketFeed, MarketFeed]
    await pass(context, first)
    await pass(context, second)
    assert.equal((await pass(context, first)).vanished, 0)
  })
})

/** Longer than the clock advances while the feed is read, also on a slow machine: with each turn of the event loop. */
const dayMs = 86_400_000

test('the loops read every feed, survive failures, report each pass, and stop with the signal', async () => {
  await using server = await serveScript({ status: 404 }, pageOf(1), nothing)
  const { context } = await contextFor(server.url, { everyMs: 1000, staleMs: dayMs })
  const stop = new AbortController()
  const reports: string[] = []
  const loops = startMarkets(context, stop.signal, ({ is }) => {
    reports.push(is)
    if (is === 'done') stop.abort()
  })
  assert.deepEqual(
    (await marketFindings(context)).map(({ ok }) => ok),
    [false],
  )
  await run(context, loops)
  assert.deepEqual(reports, ['failed', 'page', 'page', 'done'])
  assert.deepEqual(
    (await marketFindings(context)).map(({ ok, required }) => ok || required === false),
    [true],
  )
  context.clock.advance(2 * dayMs)
  assert.deepEqual(
    (await marketFindings(context)).map(({ ok }) => ok),
    [false],
  )
  await context[Symbol.asyncDispose]()
})
