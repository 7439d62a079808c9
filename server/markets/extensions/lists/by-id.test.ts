// GET /markets/{id}: the same answers as 4.8 (by-slug.test.ts), found by the market's id.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { failureExample } from '#api/contract/failures.ts'
import { Fault, invalid } from '#core/fault.ts'
import type { HandlerResult } from '#http/handler.ts'
import { openContext, type TestContext, testNowMs, testRequestInfo } from '#test/context.ts'
import { bySlug } from '../../endpoints/by-slug.ts'
import { storeFeedState } from '../../feeds/feed-progress.ts'
import { newFeedState } from '../../read/feed-state.ts'
import type { MarketRecord } from '../../records/normalize.ts'
import { putMarkets } from '../../write/put-markets.ts'
import { storeRejects } from '../../write/rejects.ts'
import { byId } from './by-id.ts'

const bridge: readonly MarketRecord[] = [
  { kind: 'market', id: '501', fields: { slug: 'bridge', question: 'Open?' }, links: { tags: ['7'] } },
  { kind: 'tag', id: '7', fields: { label: 'Ports' } },
]

const put = (context: TestContext, records: readonly MarketRecord[]) =>
  context.ingest.write((tx) => putMarkets(tx, records, context.clock.now()))

const request = (context: TestContext, input: { id: string; include_tag?: boolean; asOf?: string }, headers = {}) =>
  byId.handle({ include_tag: true, ...input }, context, testRequestInfo({ headers }))

const slugOf = (result: HandlerResult<unknown>): unknown =>
  result.is === 'bytes' ? JSON.parse(Buffer.from(result.bytes).toString()).slug : result.is

describe('200 and 304', () => {
  test('bytes and headers are those of the slug, in every form', async () => {
    await using context = await openContext()
    await put(context, bridge)
    const asOf = new Date(context.clock.now()).toISOString()
    for (const form of [{}, { include_tag: false }, { asOf }, { asOf, include_tag: false }]) {
      const expected = await bySlug.handle({ slug: 'bridge', include_tag: true, ...form }, context, testRequestInfo())
      assert.equal(expected.is, 'bytes')
      const found = await request(context, { id: '501', ...form })
      assert.deepEqual(found, expected)
      const { etag = '' } = expected.is === 'bytes' ? (expected.headers ?? {}) : {}
      assert.equal((await request(context, { id: '501', ...form }, { 'if-none-match': etag })).is, 'unchanged')
    }
  })

  test('a slug that looks like an id, and an id that looks like a slug, are not mixed up', async () => {
    await using context = await openContext()
    await put(context, [
      { kind: 'market', id: 'bridge', fields: { slug: '501' } },
      { kind: 'market', id: '501', fields: { slug: 'bridge' } },
    ])
    for (const _ of ['read', 'cached']) {
      assert.equal(slugOf(await request(context, { id: '501' })), 'bridge')
      assert.equal(slugOf(await request(context, { id: 'bridge' })), '501')
    }
  })

  test('of two markets with one slug, each is found by its id, then and now', async () => {
    await using context = await openContext()
    await put(context, [
      { kind: 'market', id: '1', fields: { slug: 'same', question: 'One?' } },
      { kind: 'market', id: '2', fields: { slug: 'same', question: 'Two?' } },
    ])
    const asOf = new Date(context.clock.now()).toISOString()
    for (const input of [{}, { asOf }]) {
      for (const [id, question] of [['1', 'One?'] as const, ['2', 'Two?'] as const]) {
        const found = await request(context, { id, ...input })
        assert.equal(found.is === 'bytes' && JSON.parse(Buffer.from(found.bytes).toString()).question, question)
      }
    }
  })

  test('a renamed market keeps its id, and a change is seen by the next call', async () => {
    await using context = await openContext()
    await put(context, bridge)
    assert.equal(slugOf(await request(context, { id: '501' })), 'bridge')
    await put(context, [{ kind: 'market', id: '501', fields: { slug: 'new-bridge' } }])
    assert.equal(slugOf(await request(context, { id: '501' })), 'new-bridge')
  })
})

describe('404, 422 and 503', () => {
  test('404: an id that no market has; ids of other records and slugs do not count', async () => {
    await using context = await openContext()
    await put(context, bridge)
    const asOf = new Date(context.clock.now()).toISOString()
    for (const id of ['502', '7', 'bridge']) {
      assert.deepEqual(await request(context, { id }), { is: 'nothing', confidence: { coverage: 'complete' } })
      assert.deepEqual(await request(context, { id, asOf }), { is: 'nothing', confidence: { coverage: 'complete' } })
    }
    const body = { type: 'not found error', error: 'id not found' }
    assert.deepEqual(byId.errorFormat.renderNotFound(), { status: 404, body })
    assert.deepEqual(byId.errorFormat.renderFault(new Fault('record.not_found')), { status: 404, body })
    assert.deepEqual(failureExample(byId.endpoint, 'record.not_found').body, body)
  })

  test('422: a malformed id', () => {
    const body = { type: 'validation error', error: 'id is invalid' }
    const rendered = byId.errorFormat.renderFault(invalid(['path', 'id'], 'must match …'))
    assert.deepEqual(rendered, { status: 422, body })
    assert.deepEqual(failureExample(byId.endpoint, 'input.invalid').body, body)
  })

  test('503: while a feed has not been read completely, and if a feed shows the market without a slug', async () => {
    await using context = await openContext({ markets: { feeds: [{ id: 'main', url: 'http://127.0.0.1:9/markets' }] } })
    const notCovered = (message: RegExp) => (fault: Fault) =>
      fault.code === 'markets.not_covered' && message.test(fault.publicMessage)
    await assert.rejects(request(context, { id: '502' }), notCovered(/has not been read completely/))
    const read = { fullAtMs: testNowMs, doneAtMs: testNowMs, asOfMs: testNowMs }
    await context.ingest.write((tx) => storeFeedState(tx, { ...newFeedState('main'), ...read }))
    assert.equal((await request(context, { id: '502' })).is, 'nothing')
    const problems = [{ at: ['slug'], message: 'is required' }]
    const reject = { kind: 'market', id: '502', slug: '', location: 'page 1', problems } as const
    await context.ingest.write((tx) => storeRejects(tx, 'main', [reject], testNowMs))
    await assert.rejects(request(context, { id: '502' }), notCovered(/without a slug, so it was not stored/))
    assert.equal((await request(context, { id: '503' })).is, 'nothing')
  })
})
