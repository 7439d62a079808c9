// Queries on threads of markets: on threads as on this one, with a limited queue, and ended with their request.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Endpoint } from '#api/contract/kit.ts'
import { Fault } from '#core/fault.ts'
import type { Handler } from '#http/handler.ts'
import { parser } from '#http/parse.ts'
import { nextEventLoopTurn } from '#runtime/clock.ts'
import type { WorkerThread } from '#runtime/worker-thread.ts'
import { openMarketThreads } from '#server/background/open-market-threads.ts'
import { createContext } from '#server/context.ts'
import { openContext, type TestContext, testNowMs, testRequestInfo } from '#test/context.ts'
import type { MarketsContext } from '../context.ts'
import { bySlug } from '../endpoints/by-slug.ts'
import { changes, changesBySlug } from '../extensions/changes/list-changes.ts'
import { changeStream } from '../extensions/changes/stream-changes.ts'
import { events, eventsKeyset } from '../extensions/lists/list-events.ts'
import { list, listKeyset } from '../extensions/lists/list-markets.ts'
import { series } from '../extensions/lists/list-series.ts'
import { eventById, eventBySlug } from '../extensions/lists/one-record.ts'
import { pricesHistory } from '../extensions/prices/prices-history.ts'
import { pricesQuery } from '../extensions/prices/prices-query.ts'
import { publicSearch } from '../extensions/search/public-search.ts'
import { search } from '../extensions/search/search.ts'
import { putMarkets } from '../write/put-markets.ts'
import { readForList, readHistory, runOnThread, type ThreadQuery } from './thread-query.ts'

/** With an event and a series. */
async function withVersions(): Promise<TestContext> {
  const context = await openContext()
  for (const price of ['0.1', '0.2', '0.3']) {
    const outcomePrices = JSON.stringify([price, '0.5'])
    const fields = { slug: 'bridge', clobTokenIds: '["11","12"]', outcomePrices }
    await context.ingest.write((tx) => putMarkets(tx, [{ kind: 'market', id: '501', fields }], context.clock.now()))
    context.clock.advance(120_000)
  }
  const links = { events: ['71'], tags: ['1'] }
  await context.ingest.write((tx) =>
    putMarkets(
      tx,
      [
        { kind: 'tag', id: '1', fields: { label: 'Bridge', slug: 'bridge' } },
        { kind: 'series', id: '31', fields: { slug: 'works', title: 'Works' } },
        { kind: 'event', id: '71', fields: { slug: 'opening', title: 'Opening' }, links: { series: ['31'] } },
        { kind: 'market', id: '502', fields: { slug: 'bridge-two', question: 'Will the bridge open?' }, links },
      ],
      context.clock.now(),
    ),
  )
  return context
}

function onThreads(context: TestContext): TestContext & AsyncDisposable {
  const marketThreads = openMarketThreads({ dataDir: context.dir, settings: context.settings })
  const threaded = createContext(context, { marketThreads })
  return { ...context, ...threaded, clock: context.clock, [Symbol.asyncDispose]: () => marketThreads.close() }
}

const request = testRequestInfo()
const calls = {
  prices: (context: TestContext) => pricesHistory.handle({ market: '12' }, context, request),
  changes: (context: TestContext) => changes.handle({ limit: 2, slugs: ['bridge'] }, context, request),
  'changes of a market': (context: TestContext) =>
    changesBySlug.handle({ slug: 'bridge', limit: 2, related: true }, context, request),
  'a market as of a past time': async (context: TestContext) =>
    bySlug.handle(
      { slug: 'bridge', include_tag: true, asOf: new Date(testNowMs + 130_000).toISOString() },
      context,
      request,
    ),
  'a market as of a time before the history': async (context: TestContext) =>
    bySlug.handle({ slug: 'bridge', include_tag: true, asOf: new Date(testNowMs - 1).toISOString() }, context, request),
  'an unknown market': (context: TestContext) => pricesHistory.handle({ market: '13' }, context, request),
  'the first events of a stream': async (context: TestContext) => {
    const outcome = await changeStream.handle({ after: '0' }, context, request)
    assert.ok(outcome.is === 'stream')
    const stop = new AbortController()
    let text = ''
    for await (const chunk of outcome.chunks(stop.signal, context as never)) {
      text += chunk
      if (text.includes('event: change')) break
    }
    return { is: 'stream', bytes: Buffer.from(text) }
  },
} as const

/** Parses the query as the server does, so that defaults apply. */
const callList =
  <E extends Endpoint>(handler: Handler<E, MarketsContext>, query: Readonly<Record<string, string>> = {}) =>
  async (context: TestContext) => {
    const parts = { params: query, query, headers: {}, contentType: '', body: undefined }
    return handler.handle(parser(handler.endpoint)(parts), context, request)
  }

/** And what a response contains at least. */
const lists = {
  'a list of markets': [callList(list), /bridge-two.*"tags"/],
  'a list of markets without tags': [callList(list, { include_tag: 'false' }), /bridge-two[^[]*"events"/],
  'a page of markets': [callList(listKeyset, { limit: '1' }), /^{"markets":\[{.*next_cursor/],
  'a list of events': [callList(events), /"opening".*"markets":\[.*bridge-two/],
  'a page of events': [callList(eventsKeyset), /^{"events":\[{.*"markets":\[/],
  'an event': [callList(eventById, { id: '71' }), /^{"id":"71".*bridge-two/],
  'an event by slug': [callList(eventBySlug, { slug: 'opening' }), /^{"id":"71".*bridge-two/],
  'a list of series': [callList(series), /"works".*"events":\[/],
  'events by words': [callList(publicSearch, { q: 'bridge' }), /"opening".*"tags":\[.*"totalResults":1/],
  'markets by words': [callList(search, { q: 'bridge' }), /Will the bridge open/],
} as const

/** Bytes are a Buffer or not, depending on the thread. */
const comparable = async (call: Promise<object>) => {
  try {
    const { bytes, ...result } = (await call) as { readonly bytes?: Uint8Array }
    return { ...result, text: bytes ? Buffer.from(bytes).toString() : JSON.stringify(result) }
  } catch (error) {
    assert.ok(error instanceof Fault)
    return { code: error.code, text: error.message }
  }
}

/** Ends also if the query waits, so that a test of a refusal fails instead of hanging. */
const nowOrNever = (call: Promise<unknown>) => Promise.race([call, nextEventLoopTurn()])

const countQuery = (run: ThreadQuery<undefined, void>['run']): ThreadQuery<undefined, void> => ({ name: 'test', run })
const from = (network: string) => ({ keyId: 'anonymous', plan: 'free', network }) as const

describe('queries', () => {
  test('return the same on a thread as on this one, faults included', async (t) => {
    await using context = await withVersions()
    await using threaded = onThreads(context)
    if (context.ingest.engine !== 'sqlite') return t.skip('the threads have a database of their own')
    for (const [name, call] of Object.entries(calls)) {
      const expected = await comparable(call(context))
      assert.deepEqual(await comparable(call(threaded)), expected, name)
    }
    for (const [name, [call, expected]] of Object.entries(lists)) {
      const result = await comparable(call(threaded))
      assert.deepEqual(result, await comparable(call(context)), name)
      assert.match(result.text, expected, name)
    }
    const past = await comparable(calls['a market as of a past time'](threaded))
    assert.match(past.text, /0\.2/)
  })

  test('run one per caller and four together; beyond the queue, and beyond four of one caller, they are refused', async () => {
    await using context = await openContext()
    const { promise, resolve } = Promise.withResolvers<void>()
    let running = 0
    const query = countQuery(() => {
      running += 1
      return promise
    })
    const ask = (network: string) => readHistory(context, from(network), query, undefined)
    const greedy = Array.from({ length: 5 }, () => ask('greedy'))
    assert.equal(running, 1)
    const busy = { code: 'markets.history_busy', status: 429, retryAfterMs: 2000 }
    await assert.rejects(nowOrNever(ask('greedy')), busy)
    const others = Array.from({ length: 11 }, (_, at) => ask(`n${at}`))
    assert.equal(running, 4)
    await assert.rejects(nowOrNever(ask('late')), busy)
    resolve()
    await Promise.all([...greedy, ...others])
    assert.equal(running, 16)
  })

  test('compose every list and search', async () => {
    await using context = await withVersions()
    const asked: string[] = []
    const pool: WorkerThread = {
      async call(name) {
        asked.push(name)
        throw new Error('asked')
      },
      async close() {},
    }
    const threaded = { ...context, ...createContext(context, { marketThreads: pool }), clock: context.clock }
    for (const [name, [call]] of Object.entries(lists)) await assert.rejects(call(threaded), /asked/, name)
    assert.equal(asked.length, Object.keys(lists).length)
  })

  test('of lists: beyond the queue, and beyond 50 of one caller, they are refused', async () => {
    await using context = await openContext()
    const { promise, resolve } = Promise.withResolvers<void>()
    const query = countQuery(() => promise)
    const ask = (network: string) => readForList(context, from(network), query, undefined)
    const one = Array.from({ length: 51 }, () => ask('one'))
    const busy = { code: 'markets.lists_busy', status: 429, retryAfterMs: 2000 }
    await assert.rejects(nowOrNever(ask('one')), busy)
    const others = Array.from({ length: 153 }, (_, at) => ask(`n${at}`))
    await assert.rejects(nowOrNever(ask('late')), busy)
    resolve()
    await Promise.all([...one, ...others])
  })

  test('that wait are never started if their request ends', async () => {
    await using context = await openContext()
    const { promise, resolve } = Promise.withResolvers<void>()
    let started = 0
    const query = countQuery(() => {
      started += 1
      return promise
    })
    const gone = new AbortController()
    const first = readHistory(context, from('a'), query, undefined)
    const second = readHistory({ ...context, signal: gone.signal }, from('a'), query, undefined)
    gone.abort(new Error('gone'))
    await assert.rejects(second, { message: 'gone' })
    resolve()
    await first
    assert.equal(started, 1)
  })

  test('are not sent to a thread after their request has ended, and unknown ones are errors', async (t) => {
    await using context = await withVersions()
    if (context.ingest.engine !== 'sqlite') return t.skip('the threads have a database of their own')
    await using threaded = onThreads(context)
    const gone = { ...threaded, signal: AbortSignal.abort(new Error('gone')) }
    await assert.rejects(pricesHistory.handle({ market: '12' }, gone, request), { message: 'gone' })
    await assert.rejects(runOnThread(gone, pricesQuery, { input: { market: '12' }, nowMs: testNowMs }), {
      message: 'gone',
    })
    await assert.rejects(
      runOnThread(
        threaded,
        countQuery(async () => {}),
        undefined,
      ),
      /has no handler for test/,
    )
  })
})
