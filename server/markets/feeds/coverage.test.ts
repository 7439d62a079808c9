// What is said of markets while feeds are being read, and how sure an answer is.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { faults } from '#api/faults.ts'
import type { Fault } from '#core/fault.ts'
import { openContext, type TestContext, testNowMs, testRequestInfo } from '#test/context.ts'
import { bySlug } from '../endpoints/by-slug.ts'
import { changesBySlug } from '../endpoints/list-changes.ts'
import type { MarketRecord } from '../records/normalize.ts'
import { putMarkets } from '../records/put-markets.ts'
import { writeDeferred } from '../records/rebuild.ts'
import { search } from '../search/search.ts'
import { computeFeedCoverage } from './coverage.ts'
import { type FeedState, newFeedState, storeFeedState } from './feed-state.ts'

const feed = (id: string) => ({ id, url: 'http://127.0.0.1:9/markets' })
const iso = (ms: number) => new Date(ms).toISOString()

const bridge: readonly MarketRecord[] = [
  { kind: 'market', id: '501', fields: { slug: 'bridge', pastSlugs: 'the-bridge' }, links: { tags: ['7'] } },
  { kind: 'tag', id: '7', fields: { label: 'Ports' } },
]

/** As a first pass and an import do it: answers are written at the end. */
const putBridge = (context: TestContext, records = bridge) =>
  context.state.write((tx) => putMarkets(tx, records, context.clock.now(), { isDeferred: true }))

const putFeedState = (context: TestContext, source: string, feedState: Partial<FeedState>) =>
  context.state.write((tx) => storeFeedState(tx, { ...newFeedState(source), ...feedState }))

async function ask(context: TestContext, slug: string, headers: Record<string, string> = {}, include_tag = true) {
  const outcome = await bySlug.handle({ slug, include_tag }, context, testRequestInfo({ headers }))
  const bytes = outcome.is === 'bytes' ? Buffer.from(outcome.bytes).toString() : undefined
  const sent: Record<string, string> =
    outcome.is === 'bytes' || outcome.is === 'unchanged' ? (outcome.headers ?? {}) : {}
  return { is: outcome.is, bytes, headers: sent, confidence: outcome.is === 'nothing' ? outcome.confidence : undefined }
}

describe('what has been read', () => {
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
  for (const [name, feeds, standings, coverage, asOf] of table) {
    test(`${name}: ${coverage}`, () => {
      const read = computeFeedCoverage(feeds, standings)
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

  test('200: a market that has come in is answered before its document is written, and says what is there', async () => {
    await using context = await contextMidway()
    const { bytes, headers } = await ask(context, 'bridge')
    assert.match(bytes ?? '', /"slug":"bridge".*"tags":\[\{"id":"7","label":"Ports"\}\]/)
    assert.deepEqual([headers['x-tetrad-coverage'], headers['x-tetrad-as-of']], ['feed:other', iso(testNowMs)])
    assert.equal((await ask(context, 'bridge', { 'if-none-match': headers.etag ?? '' })).is, 'unchanged')
    assert.equal((await ask(context, 'the-bridge')).headers['content-location'], '/markets/slug/bridge')
  })

  test('503: one that has not come in may still come; also in the past and in the list of its changes', async () => {
    await using context = await contextMidway()
    const refused = (fault: Fault) => {
      assert.equal(fault.code, 'markets.not_covered')
      assert.ok((fault.retryAfterMs ?? 0) > 0)
      assert.equal(fault.headers?.['x-tetrad-coverage'], 'feed:other')
      assert.match(fault.publicMessage, /^The feed main has not been read/)
      const { status, body } = bySlug.errorFormat.renderFault(fault)
      assert.deepEqual([status, (body as { type: string }).type], [503, 'availability error'])
      return true
    }
    await assert.rejects(ask(context, 'tunnel'), refused)
    const past = { slug: 'tunnel', include_tag: true, asOf: iso(context.clock.now()) }
    await assert.rejects(bySlug.handle(past, context, testRequestInfo()), refused)
    await assert.rejects(
      changesBySlug.handle({ slug: 'tunnel', limit: 1, related: false }, context, testRequestInfo()),
      refused,
    )
    assert.equal(faults['markets.not_covered'].retry, 'later')
  })

  test('200: a search answers what is there and says so', async () => {
    await using context = await contextMidway()
    const found = await search.handle({ q: 'tunnel', limit: 1 }, context, testRequestInfo())
    assert.deepEqual(found, { is: 'body', body: { markets: [] }, confidence: { coverage: 'feed:other' } })
  })

  test('404: once every feed has been read completely, with the time that this rests on', async () => {
    await using context = await contextMidway()
    await assert.rejects(ask(context, 'tunnel'))
    await putFeedState(context, 'main', { fullAtMs: testNowMs, doneAtMs: testNowMs, asOfMs: testNowMs - 5000 })
    const { is, confidence } = await ask(context, 'tunnel')
    assert.deepEqual([is, confidence], ['nothing', { coverage: 'complete', asOf: iso(testNowMs - 9000) }])
  })
})

describe('what an answer rests on', () => {
  test('the start of the last finished pass, of the feed that is furthest behind, also with a 304', async () => {
    await using context = await openContext({ markets: { feeds: [feed('main')] } })
    await putFeedState(context, 'main', { fullAtMs: testNowMs, doneAtMs: testNowMs, asOfMs: testNowMs - 7000 })
    await putBridge(context)
    await writeDeferred(context.state, () => context.clock.now())
    const first = await ask(context, 'bridge')
    assert.deepEqual(
      [first.headers['x-tetrad-coverage'], first.headers['x-tetrad-as-of']],
      ['complete', iso(testNowMs - 7000)],
    )
    await putFeedState(context, 'main', { fullAtMs: testNowMs, doneAtMs: testNowMs + 9000, asOfMs: testNowMs + 8000 })
    const again = await ask(context, 'bridge', { 'if-none-match': first.headers.etag ?? '' })
    assert.deepEqual([again.is, again.headers['x-tetrad-as-of']], ['unchanged', iso(testNowMs + 8000)])
    assert.deepEqual({ ...again.headers, 'x-tetrad-as-of': '' }, { ...first.headers, 'x-tetrad-as-of': '' })
  })

  test('without feeds its own time, and what was imported is complete: answered before and after alike', async () => {
    await using context = await openContext()
    await putBridge(context)
    const before = await ask(context, 'bridge')
    const bare = await ask(context, 'bridge', {}, false)
    context.clock.advance(1000)
    await writeDeferred(context.state, () => context.clock.now())
    const after = await ask(context, 'bridge')
    assert.deepEqual([before.bytes, before.headers.etag], [after.bytes, after.headers.etag])
    assert.equal((await ask(context, 'bridge', {}, false)).bytes, bare.bytes)
    assert.deepEqual(
      [before, after].map(({ headers }) => [headers['x-tetrad-coverage'], headers['x-tetrad-as-of']]),
      [
        ['complete', iso(testNowMs)],
        ['complete', iso(testNowMs + 1000)],
      ],
    )
    assert.deepEqual((await ask(context, 'tunnel')).confidence, { coverage: 'complete' })
  })

  test('what is put together for one call is not kept: the next change is seen', async () => {
    await using context = await openContext()
    await putBridge(context)
    await ask(context, 'bridge')
    await putBridge(context, [{ kind: 'tag', id: '7', fields: { label: 'Harbours' } }])
    assert.match((await ask(context, 'bridge')).bytes ?? '', /Harbours/)
  })
})
