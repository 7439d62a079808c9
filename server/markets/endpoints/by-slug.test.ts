// Spec 4.8: a market by its slug.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type FaultCode, faults } from '#api/contract/faults.ts'
import { MarketsFailure } from '#api/contract/wire/markets.ts'
import { Fault, invalid } from '#core/fault.ts'
import { checker } from '#core/schema-check.ts'
import { httpDate } from '#http/etag.ts'
import type { State } from '#storage/state.ts'
import { stateWith } from '#test/authorization.ts'
import { openContext, type TestContext, testNowMs, testRequestInfo } from '#test/context.ts'
import { createMarketsCaches } from '../context.ts'
import type { MarketRecord } from '../records/normalize.ts'
import { putMarkets } from '../write/put-markets.ts'
import { bySlug } from './by-slug.ts'

const market = (id: string, fields: object, links = {}): MarketRecord => ({
  kind: 'market',
  id,
  fields: { ...fields },
  links,
})

const put = (context: TestContext, ...records: MarketRecord[]) =>
  context.ingest.write((tx) => putMarkets(tx, records, context.clock.now()))

async function contextWithBridge(overrides: object = {}): Promise<TestContext> {
  const context = await openContext(overrides)
  await put(
    context,
    market('501', { slug: 'bridge', question: 'Open?', pastSlugs: '["the-bridge"]' }, { tags: ['7'] }),
    {
      kind: 'tag',
      id: '7',
      fields: { label: 'Ports' },
    },
  )
  return context
}

async function ask(context: TestContext, slug: string, include_tag = true, headers: Record<string, string> = {}) {
  const outcome = await bySlug.handle({ slug, include_tag }, context, testRequestInfo({ headers }))
  const body = outcome.is === 'bytes' ? JSON.parse(Buffer.from(outcome.bytes).toString()) : undefined
  const sent: Record<string, string> =
    outcome.is === 'bytes' || outcome.is === 'unchanged' ? (outcome.headers ?? {}) : {}
  return { is: outcome.is, body, headers: sent }
}

describe('200', () => {
  test('200: the market with its caching headers', async () => {
    await using context = await contextWithBridge()
    const { body, headers } = await ask(context, 'bridge')
    assert.deepEqual(body.tags, [{ id: '7', label: 'Ports' }])
    const confidence = ['x-tetrad-as-of', 'x-tetrad-coverage']
    assert.deepEqual(Object.keys(headers), ['etag', 'last-modified', 'cache-control', 'vary', ...confidence])
    assert.equal(headers['last-modified'], httpDate(testNowMs))
    assert.equal(headers['cache-control'], 'public, max-age=5')
    assert.match(headers.etag ?? '', /^"[\w-]+"$/)
  })

  test('200: a replica may answer; what it lacks comes from the primary, and so does what is older there than before', async () => {
    await using context = await contextWithBridge()
    await using replica = await openContext()
    const { ingest } = context
    // As the pool of replicas does it.
    const recent: State['recent'] = {
      ...ingest.recent,
      snapshot: async (isRecent, work) =>
        (await isRecent(replica.ingest)) ? replica.ingest.snapshot(work) : ingest.snapshot(work),
    }
    const setSeq = (seq: number) => replica.ingest.write((tx) => tx.run('update market_revision set seq = ?', seq))
    const served = { ...context, ingest: stateWith(ingest, { recent, hasReplicas: true }) }
    let markets = createMarketsCaches(context.clock)
    const question = async () => (await ask({ ...served, markets }, 'bridge')).body.question
    const { seq = 0 } = (await ingest.get<{ seq: number }>('select seq from market_revision')) ?? {}
    await setSeq(seq)
    assert.equal(await question(), 'Open?', 'the replica lacks it')
    await put(replica, market('501', { slug: 'bridge', question: 'Copied?' }))
    markets = createMarketsCaches(context.clock)
    await setSeq(seq + 1)
    // What a replica returns that is ahead of this server: it is not cached, and nothing older follows.
    assert.equal(await question(), 'Copied?')
    await setSeq(seq)
    assert.equal(await question(), 'Open?')
    assert.equal(await question(), 'Open?', 'cached')
    markets = createMarketsCaches(context.clock)
    assert.equal(await question(), 'Copied?', 'a replica of the same version')
    await put(context, market('501', { slug: 'bridge', question: 'Closed?' }, { tags: ['7'] }))
    assert.equal(await question(), 'Closed?', 'the replica is behind')
  })

  test('200: include_tag=false omits the tags and has its own ETag', async () => {
    await using context = await contextWithBridge()
    const bare = await ask(context, 'bridge', false)
    assert.deepEqual(bare.body, { id: '501', question: 'Open?', slug: 'bridge', pastSlugs: '["the-bridge"]' })
    assert.notEqual(bare.headers.etag, (await ask(context, 'bridge')).headers.etag)
  })

  test('200: a past slug returns the market with its current path as content-location', async () => {
    await using context = await contextWithBridge()
    const past = await ask(context, 'the-bridge')
    assert.equal(past.body.slug, 'bridge')
    assert.equal(past.headers['content-location'], '/markets/slug/bridge')
    const bare = await ask(context, 'the-bridge', false)
    assert.equal(bare.headers['content-location'], '/markets/slug/bridge?include_tag=false')
  })

  test('200: a current slug has precedence over a past one; then the market that got the slug last', async () => {
    await using context = await contextWithBridge()
    context.clock.advance(1000)
    await put(context, market('502', { slug: 'tunnel', pastSlugs: 'bridge,the-bridge' }))
    assert.equal((await ask(context, 'bridge')).body.id, '501')
    assert.equal((await ask(context, 'the-bridge')).body.id, '502')
    context.clock.advance(1000)
    await put(context, market('501', { slug: 'bridge', pastSlugs: '["the-bridge"]', question: 'Closed?' }))
    assert.equal((await ask(context, 'the-bridge')).body.id, '502', 'a later change does not matter')
  })

  test('200: the next request sees a change; other commits do not clear the cache', async () => {
    await using context = await contextWithBridge()
    const before = await ask(context, 'bridge')
    await context.ingest.write((tx) => tx.run("insert into label_lists (chain, revision, entries) values ('1', 1, 0)"))
    assert.equal((await ask(context, 'bridge')).headers.etag, before.headers.etag)
    context.clock.advance(5000)
    await put(context, { kind: 'tag', id: '7', fields: { label: 'Harbours' } })
    const after = await ask(context, 'bridge')
    assert.equal(after.body.tags[0].label, 'Harbours')
    assert.equal(after.headers['last-modified'], httpDate(testNowMs + 5000))
  })

  test('200: responses are correct with a small or no cache', async () => {
    await using context = await contextWithBridge({ markets: { cacheMegabytes: 0 } })
    for (const slug of ['bridge', 'the-bridge', 'bridge']) assert.equal((await ask(context, slug)).body.id, '501')
  })

  test('200: a renamed market is found by every earlier slug, listed by the source or not', async () => {
    await using context = await contextWithBridge()
    await ask(context, 'the-bridge')
    await put(context, market('501', { slug: 'new-bridge' }))
    for (const slug of ['bridge', 'the-bridge']) {
      const { body, headers } = await ask(context, slug)
      assert.deepEqual([body.slug, headers['content-location']], ['new-bridge', '/markets/slug/new-bridge'], slug)
    }
    await put(context, market('501', { slug: 'bridge' }))
    assert.equal((await ask(context, 'bridge')).headers['content-location'], undefined)
    assert.equal((await ask(context, 'new-bridge')).headers['content-location'], '/markets/slug/bridge')
  })

  test('200: an earlier slug of a market belongs to another that has it now or lists it as past', async () => {
    await using context = await contextWithBridge()
    await put(context, market('501', { slug: 'new-bridge' }))
    await put(context, market('502', { slug: 'tunnel', pastSlugs: 'bridge' }))
    assert.equal((await ask(context, 'bridge')).body.id, '502')
    await put(context, market('503', { slug: 'bridge' }))
    assert.equal((await ask(context, 'bridge')).body.id, '503')
  })
})

describe('304', () => {
  test('304: by ETag or by date, with the headers of the 200', async () => {
    await using context = await contextWithBridge()
    const { headers } = await ask(context, 'bridge')
    for (const condition of [
      { 'if-none-match': headers.etag ?? '' },
      { 'if-none-match': `"other", W/${headers.etag}` },
      { 'if-none-match': '*' },
      { 'if-modified-since': headers['last-modified'] ?? '' },
    ]) {
      assert.deepEqual(await ask(context, 'bridge', true, condition), { is: 'unchanged', body: undefined, headers })
    }
    assert.equal((await ask(context, 'bridge', false, { 'if-none-match': headers.etag ?? '' })).is, 'bytes')
  })
})

describe('404', () => {
  test('404: an unknown slug, or a slug in a different case', async () => {
    await using context = await contextWithBridge()
    assert.equal((await ask(context, 'nowhere')).is, 'nothing')
    assert.equal((await ask(context, 'Bridge')).is, 'nothing')
    const body = { type: 'not found error', error: 'slug not found' }
    assert.deepEqual(bySlug.errorFormat.renderNotFound(), { status: 404, body })
    assert.deepEqual(bySlug.errorFormat.renderFault(new Fault('record.not_found')), { status: 404, body })
  })
})

describe('422, 429, 500', () => {
  const { errorFormat } = bySlug

  test('422: a fixed text for an invalid slug; other errors say what was expected, and for lists which item', () => {
    assert.deepEqual(errorFormat.renderFault(invalid(['path', 'slug'], 'must match …')), {
      status: 422,
      body: { type: 'validation error', error: 'slug is invalid' },
    })
    const render = (at: string[], message: string, value?: unknown) =>
      errorFormat.renderFault(invalid(['query', ...at], message, value)).body
    assert.deepEqual(render(['include_tag'], 'must be boolean', 'x'), {
      type: 'validation error',
      error: 'include_tag must be boolean',
    })
    assert.deepEqual(render(['kinds', '0'], 'must be one of a, b', 'foo'), {
      type: 'validation error',
      error: 'kinds: "foo" must be one of a, b',
    })
  })

  test('500: a bug reveals no details', () =>
    assert.deepEqual(errorFormat.renderFault(new Fault('server.internal', { detail: 'secret' })), {
      status: 500,
      body: { type: 'internal error', error: 'cannot get the information' },
    }))

  test('every fault is rendered in the error format with its status', () => {
    const check = checker(MarketsFailure)
    for (const code of Object.keys(faults) as FaultCode[]) {
      const { status, body } = errorFormat.renderFault(new Fault(code))
      assert.deepEqual(check(body), [], code)
      assert.equal(status, code === 'input.invalid' ? 422 : faults[code].status, code)
    }
    assert.equal(errorFormat.renderFault(new Fault('limit.second')).status, 429)
  })
})
