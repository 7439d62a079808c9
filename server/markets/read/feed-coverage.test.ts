// Coverage and as-of times of responses, during and after the first pass over a feed.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { faults } from '#api/contract/faults.ts'
import type { Fault } from '#core/fault.ts'
import { openContext, type TestContext, testNowMs, testRequestInfo } from '#test/context.ts'
import { bySlug } from '../endpoints/by-slug.ts'
import { changesBySlug } from '../extensions/changes/list-changes.ts'
import { search } from '../extensions/search/search.ts'
import { storeFeedState } from '../feeds/feed-progress.ts'
import type { MarketRecord } from '../records/normalize.ts'
import { putMarkets } from '../write/put-markets.ts'
import { computeFeedCoverage } from './feed-coverage.ts'
import { type FeedState, newFeedState } from './feed-state.ts'

const feed = (id: string) => ({ id, url: 'http://127.0.0.1:9/markets' })
const iso = (ms: number) => new Date(ms).toISOString()

const bridge: readonly MarketRecord[] = [
  { kind: 'market', id: '501', fields: { slug: 'bridge', pastSlugs: 'the-bridge' }, links: { tags: ['7'] } },
  { kind: 'tag', id: '7', fields: { label: 'Ports' } },
]

const putBridge = (context: TestContext, records = bridge) =>
  context.ingest.write((tx) => putMarkets(tx, records, context.clock.now()))

const putFeedState = (context: TestContext, source: string, feedState: Partial<FeedState>) =>
  context.ingest.write((tx) => storeFeedState(tx, { ...newFeedState(source), ...feedState }))

async function request(context: TestContext, slug: string, headers: Record<string, string> = {}, include_tag = true) {
  const outcome = await bySlug.handle({ slug, include_tag }, context, testRequestInfo({ headers }))
  const bytes = outcome.is === 'bytes' ? Buffer.from(outcome.bytes).toString() : undefined
  const sent: Record<string, string> =
    outcome.is === 'bytes' || outcome.is === 'unchanged' ? (outcome.headers ?? {}) : {}
  return { is: outcome.is, bytes, headers: sent, confidence: outcome.is === 'nothing' ? outcome.confidence : undefined }
}

describe('coverage', () => {
  const done = (source: string, asOfMs: number) => ({ source, fullAtMs: testNowMs, asOfMs, rejected: 0 })
  const begun = (source: string) => ({ source, fullAtMs: null, asOfMs: null, rejected: 0 })
  const both = [{ id: 'a' }, { id: 'b' }]
  const table = [
    ['no feeds', [], [done('gone', 1)], 'complete', undefined],
    ['nothing yet', both, [], 'none', undefined],
    ['one of two', both, [done('a', 5), begun('b')], 'feed:a', undefined],
    ['both: as of the earlier', both, [done('a', 5), done('b', 3)], 'complete', iso(3)],
    ['one that is no longer configured', [{ id: 'a' }], [done('a', 5), begun('b')], 'complete', iso(5)],
  ] as const
  for (const [name, feeds, states, coverage, asOf] of table) {
    test(`${name}: ${coverage}`, () => {
      const read = computeFeedCoverage(feeds, states)
      assert.deepEqual([read.coverage, read.asOf], [coverage, asOf])
    })
  }
})

describe('while a feed is read for the first time', () => {
  async function contextMidway() {
    const context = await openContext({ markets: { feeds: [feed('main'), feed('other')] } })
    await putFeedState(context, 'other', { fullAtMs: testNowMs, doneAtMs: testNowMs, asOfMs: testNowMs - 9000 })
    await putFeedState(context, 'main', { page: 3, startedMs: testNowMs - 5000 })
    await putBridge(context)
    return context
  }

  test('200: a stored market is served with the current coverage', async () => {
    await using context = await contextMidway()
    const { bytes, headers } = await request(context, 'bridge')
    assert.match(bytes ?? '', /"slug":"bridge".*"tags":\[\{"id":"7","label":"Ports"\}\]/)
    assert.deepEqual([headers['x-tetrad-coverage'], headers['x-tetrad-as-of']], ['feed:other', iso(testNowMs)])
    assert.equal((await request(context, 'bridge', { 'if-none-match': headers.etag ?? '' })).is, 'unchanged')
    assert.equal((await request(context, 'the-bridge')).headers['content-location'], '/markets/slug/bridge')
  })

  test('503: a market that is not stored may still exist, also for asOf and for the list of changes', async () => {
    await using context = await contextMidway()
    const refused = (fault: Fault) => {
      assert.equal(fault.code, 'markets.not_covered')
      assert.ok((fault.retryAfterMs ?? 0) > 0)
      assert.equal(fault.headers?.['x-tetrad-coverage'], 'feed:other')
      assert.match(fault.publicMessage, /^Feed main has not been read/)
      const { status, body } = bySlug.errorFormat.renderFault(fault)
      assert.deepEqual([status, (body as { type: string }).type], [503, 'availability error'])
      return true
    }
    await assert.rejects(request(context, 'tunnel'), refused)
    const past = { slug: 'tunnel', include_tag: true, asOf: iso(context.clock.now()) }
    await assert.rejects(async () => bySlug.handle(past, context, testRequestInfo()), refused)
    await assert.rejects(
      changesBySlug.handle({ slug: 'tunnel', limit: 1, related: false }, context, testRequestInfo()),
      refused,
    )
    assert.equal(faults['markets.not_covered'].retry, 'later')
  })

  test('200: a search returns the stored markets with the current coverage', async () => {
    await using context = await contextMidway()
    const found = await search.handle({ q: 'tunnel', limit: 1 }, context, testRequestInfo())
    assert.deepEqual(found, { is: 'body', body: { markets: [] }, confidence: { coverage: 'feed:other' } })
  })

  test('404: once every feed has been read completely, with the as-of time', async () => {
    await using context = await contextMidway()
    await assert.rejects(request(context, 'tunnel'))
    await putFeedState(context, 'main', { fullAtMs: testNowMs, doneAtMs: testNowMs, asOfMs: testNowMs - 5000 })
    const { is, confidence } = await request(context, 'tunnel')
    assert.deepEqual([is, confidence], ['nothing', { coverage: 'complete', asOf: iso(testNowMs - 9000) }])
  })
})

describe('as-of time', () => {
  test('is the start of the last finished pass of the feed that is furthest behind, also with a 304', async () => {
    await using context = await openContext({ markets: { feeds: [feed('main')] } })
    await putFeedState(context, 'main', { fullAtMs: testNowMs, doneAtMs: testNowMs, asOfMs: testNowMs - 7000 })
    await putBridge(context)
    const first = await request(context, 'bridge')
    assert.deepEqual(
      [first.headers['x-tetrad-coverage'], first.headers['x-tetrad-as-of']],
      ['complete', iso(testNowMs - 7000)],
    )
    await putFeedState(context, 'main', { fullAtMs: testNowMs, doneAtMs: testNowMs + 9000, asOfMs: testNowMs + 8000 })
    const again = await request(context, 'bridge', { 'if-none-match': first.headers.etag ?? '' })
    assert.deepEqual([again.is, again.headers['x-tetrad-as-of']], ['unchanged', iso(testNowMs + 8000)])
    assert.deepEqual({ ...again.headers, 'x-tetrad-as-of': '' }, { ...first.headers, 'x-tetrad-as-of': '' })
  })

  test('is the time of the last change of the market without feeds, and the coverage is complete', async () => {
    await using context = await openContext()
    await putBridge(context)
    const before = await request(context, 'bridge')
    context.clock.advance(1000)
    await putBridge(context, [{ kind: 'tag', id: '7', fields: { label: 'Docks' } }])
    const after = await request(context, 'bridge')
    assert.deepEqual(
      [before, after].map(({ headers }) => [headers['x-tetrad-coverage'], headers['x-tetrad-as-of']]),
      [
        ['complete', iso(testNowMs)],
        ['complete', iso(testNowMs + 1000)],
      ],
    )
    assert.deepEqual((await request(context, 'tunnel')).confidence, { coverage: 'complete' })
  })

  test('the next request sees a change', async () => {
    await using context = await openContext()
    await putBridge(context)
    await request(context, 'bridge')
    await putBridge(context, [{ kind: 'tag', id: '7', fields: { label: 'Harbours' } }])
    assert.match((await request(context, 'bridge')).bytes ?? '', /Harbours/)
  })
})
