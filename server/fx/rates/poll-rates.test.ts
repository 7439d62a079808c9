import assert from 'node:assert/strict'
import { rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { demoFxSettings } from '#simulator/fx.ts'
import type { State } from '#storage/state.ts'
import { openContext, settingsWith, testNowMs, testRequestInfo } from '#test/context.ts'
import { ManualClock } from '#test/manual-clock.ts'
import { type RateFault, startFaultyRateFeed } from '#test/simulator/faulty-rates.ts'
import type { FxContext } from '../context.ts'
import { createQuote } from '../endpoints/create-quote.ts'
import { pushRate } from '../extensions/push-rate/push-rate.ts'
import { isFresh, type Rate } from '../pricing/mid.ts'
import { type RatePollReport, rateFindings, readSource, startRates } from './poll-rates.ts'
import { allLatestRates, rateHistory, storeRates } from './rate-store.ts'
import { readSourceHealth } from './source-health.ts'

const eurUsd = (rate: string, atMs: number): Rate => ({ source: 'a', base: 'EUR', quote: 'USD', rate, atMs })
const source = { id: 'a', kind: 'http-json', url: 'https://rates.example/', staleMs: 10_000 }
const latest = async (context: FxContext) =>
  (await allLatestRates(context.state)).map(({ confirmedMs, ...rate }) => [rate, confirmedMs])
const history = (context: FxContext) =>
  context.state.all('select rate, at_ms as "atMs", received_ms as "receivedMs" from fx_rates order by at_ms')

test('the history keeps every rate, the latest is the newest', async () => {
  await using context = await openContext()
  assert.equal((await storeRates(context.state, 'a', [eurUsd('1.08', 1000), eurUsd('1.09', 2000)], 2500)).stored, 2)
  assert.equal((await storeRates(context.state, 'a', [eurUsd('1.10', 3000)], 3500)).stored, 1)
  assert.deepEqual(await history(context), [
    { rate: '1.08', atMs: 1000, receivedMs: 2500 },
    { rate: '1.09', atMs: 2000, receivedMs: 2500 },
    { rate: '1.10', atMs: 3000, receivedMs: 3500 },
  ])
  assert.deepEqual(await latest(context), [[eurUsd('1.10', 3000), 3500]])
})

test('the same rate again only confirms it; an older rate is neither stored nor a confirmation', async () => {
  await using context = await openContext()
  await storeRates(context.state, 'a', [eurUsd('1.08', 2000)], 2500)
  const unchanged = { stored: 0, rejected: [] }
  assert.deepEqual(await storeRates(context.state, 'a', [eurUsd('1.07', 1000), eurUsd('1.080', 2000)], 9000), unchanged)
  assert.deepEqual(await latest(context), [[eurUsd('1.08', 2000), 9000]])
  assert.deepEqual(await history(context), [{ rate: '1.08', atMs: 2000, receivedMs: 2500 }])
  const readOnly = {
    all: context.state.all.bind(context.state),
    write: () => assert.fail('it wrote'),
  } as unknown as State
  assert.deepEqual(await storeRates(readOnly, 'a', [eurUsd('1.07', 1000)], 9500), unchanged)
  assert.deepEqual(await storeRates(readOnly, 'a', [], 9500), unchanged)
})

test('a different rate with the same time is rejected and reported', async () => {
  await using context = await openContext()
  await storeRates(context.state, 'a', [eurUsd('1.08', 2000)], 2500)
  const { stored, rejected } = await storeRates(context.state, 'a', [eurUsd('1.09', 2000)], 2600)
  assert.equal(stored, 0)
  assert.match(rejected[0]?.reason ?? '', /two prices for .*: 1\.08 and 1\.09/)
  assert.deepEqual(await latest(context), [[eurUsd('1.08', 2000), 0]])
})

test('a source that changes a rate without its time prices nothing until two polls return the same one', async () => {
  const sources = [{ ...source, everyMs: 1000 }]
  await using context = await openContext({ fx: { sources } })
  const [settings = assert.fail()] = context.settings.fx.sources
  const atMs = testNowMs - 1000
  const poll = (rate: string) => {
    const parsed = { rates: [eurUsd(rate, atMs)], rejected: [] }
    return readSource(context, settings, async () => parsed, new AbortController().signal)
  }
  const latestRate = async () => {
    const [rate = assert.fail()] = await allLatestRates(context.state)
    return [rate.rate, isFresh(rate, context.settings.fx.sources, testNowMs)]
  }
  await poll('1.08')
  assert.deepEqual(await latestRate(), ['1.08', true])
  assert.equal((await poll('1.09')).rejected.length, 1)
  assert.deepEqual(await latestRate(), ['1.08', false], 'nothing shows which one is true')
  await poll('1.08')
  assert.deepEqual(await latestRate(), ['1.08', false], 'the first one again')
  await poll('1.08')
  assert.deepEqual(await latestRate(), ['1.08', true], 'the first one twice in a row')
  await poll('1.09')
  assert.equal((await poll('1.09')).stored, 1)
  assert.deepEqual(await latestRate(), ['1.09', true], 'the other one twice in a row')
  assert.deepEqual(
    (await history(context)).map((row) => (row as { rate: string }).rate),
    ['1.09'],
    'the history has the corrected rate',
  )
})

test('health lists every configured source with its pairs, their age and status', async () => {
  const sources = [source, { ...source, id: 'b' }, { ...source, id: 'c' }]
  await using context = await openContext({ fx: { sources } })
  await storeRates(context.state, 'a', [eurUsd('1.08', testNowMs - 10_000)], testNowMs)
  await storeRates(context.state, 'b', [{ ...eurUsd('1.08', testNowMs - 10_001), source: 'b' }], testNowMs)
  await storeRates(context.state, 'gone', [{ ...eurUsd('1.08', testNowMs), source: 'gone' }], testNowMs)
  const health = await readSourceHealth(context)
  assert.deepEqual(
    health.map(({ source, rates }) => [source.id, ...rates.map(({ base, ageMs, status }) => [base, ageMs, status])]),
    [['a', ['EUR', 10_000, 'used']], ['b', ['EUR', 10_001, 'stale']], ['c']],
  )
  const [ready] = await rateFindings(context)
  assert.deepEqual(ready, {
    name: 'fx rates',
    ok: true,
    message: 'a EUR/USD 10 s old; b EUR/USD 10 s old, stale; c: no rate received',
  })
  context.clock.advance(1)
  assert.equal((await rateFindings(context))[0]?.ok, false)
})

test('a rate stored while the clock was ahead is not used, and the next rate replaces it', async () => {
  await using context = await openContext(
    { fx: { sources: [{ id: 'desk', kind: 'push' }] } },
    testNowMs + 2 * 86_400_000,
  )
  await pushRate(context, { pair: 'EUR/USD', rate: '1.05' })
  const right = { ...context, clock: new ManualClock(testNowMs) }
  const rateStatus = async () => (await readSourceHealth(right))[0]?.rates.map(({ rate, status }) => [rate, status])
  assert.deepEqual(await rateStatus(), [['1.05', 'stale']])
  await pushRate(right, { pair: 'EUR/USD', rate: '1.2' })
  assert.deepEqual(await rateStatus(), [['1.2', 'used']])
  await assert.rejects(pushRate(right, { pair: 'EUR/USD', rate: '1.3', atMs: testNowMs - 1 }), /later than the last/)
})

test('a rate in the future is reported as ahead of the clock and stale', async () => {
  await using context = await openContext({ fx: { sources: [source] } })
  await storeRates(context.state, 'a', [eurUsd('1.08', testNowMs + 59 * 60_000)], testNowMs)
  const [ready] = await rateFindings(context)
  assert.match(ready?.message ?? '', /a EUR\/USD 59 min ahead of this clock, stale/)
})

test('with only a daily fixing the server is ready, and the finding says that tradable quotes are refused', async () => {
  const spender = `0x${'33'.repeat(20)}`
  await using context = await openContext({
    fx: { spender, sources: [{ id: 'bank', kind: 'ecb', path: 'rates.xml' }] },
  })
  const rate = { source: 'bank', base: 'EUR', quote: 'USD', rate: '1.25', atMs: testNowMs - 1000 }
  await storeRates(context.state, 'bank', [rate], testNowMs)
  assert.deepEqual(await rateFindings(context), [
    {
      name: 'fx rates',
      ok: true,
      // On a Sunday the bank is closed, so the rate does not age.
      message: 'no rate for tradable quotes between USD and EUR: bank EUR/USD 0 s old',
    },
  ])
})

test('without a source or with FX disabled, there is no finding about rates', async () => {
  await using bare = await openContext()
  assert.deepEqual(await rateFindings(bare), [])
  await using off = await openContext({ fx: { sources: [source] }, groups: { fx: { enabled: false } } })
  assert.deepEqual(await rateFindings(off), [])
})

/** A feed on the test's clock and a context that reads it. */
async function openFeedContext() {
  const reports: RatePollReport[] = []
  const waiting: { count: number; wake: () => void }[] = []
  const bare = await openContext()
  const feed = await startFaultyRateFeed('test', bare.clock)
  const context = { ...bare, settings: settingsWith(demoFxSettings(feed.url)) }
  const onPoll = (report: RatePollReport) => {
    reports.push(report)
    for (const { count, wake } of waiting) if (reports.length >= count) wake()
  }
  const until = (count: number) =>
    new Promise<void>((wake) => (reports.length >= count ? wake() : waiting.push({ count, wake })))
  return {
    feed,
    context,
    reports,
    onPoll,
    until,
    async [Symbol.asyncDispose]() {
      await feed.close()
      await bare[Symbol.asyncDispose]()
    },
  }
}

const quoteFrom = (context: FxContext) =>
  createQuote.handle(
    { from: { currency: 'USDC', amount: '1000' }, to: { currency: 'EURC' }, tenor: 'instant', type: 'reference' },
    context,
    testRequestInfo(),
  )

test('rates are polled over HTTP, stored and used for a quote', async () => {
  await using setup = await openFeedContext()
  const { context } = setup
  await assert.rejects(quoteFrom(context), /fx\.rate_stale/)
  const stop = new AbortController()
  const stopped = startRates(context, stop.signal, setup.onPoll)
  await setup.until(2)
  assert.deepEqual(
    setup.reports.map((report) => report.is === 'stored' && report.stored),
    [8, 8],
  )
  assert.equal((await rateFindings(context))[0]?.ok, true)
  const outcome = await quoteFrom(context)
  assert.equal(outcome.is, 'bytes')
  assert.equal(outcome.is === 'bytes' && outcome.confidence?.asOf, new Date(testNowMs).toISOString())
  stop.abort()
  await stopped
  const [counted] = await context.state.all<{ count: number }>('select count(*) as count from fx_rates')
  assert.equal(counted?.count, 16)
})

test('a failing source is reported and retried, and the other source prices quotes', async () => {
  for (const fault of ['error', 'garbage', 'stale'] satisfies RateFault[]) {
    await using setup = await openFeedContext()
    setup.feed.setFault('south', fault)
    const stop = new AbortController()
    const stopped = startRates(setup.context, stop.signal, setup.onPoll)
    await setup.until(2)
    const south = setup.reports.find((report) => report.source === 'demo-south')
    assert.equal(south?.is, fault === 'stale' ? 'stored' : 'failed')
    assert.equal((await quoteFrom(setup.context)).is, 'bytes')
    stop.abort()
    await stopped
    const after = (await readSourceHealth(setup.context)).find(({ source }) => source.id === 'demo-south')
    assert.ok(after?.rates.every(({ status }) => status === 'stale'))
    assert.equal(after?.status?.failures, fault === 'stale' ? 0 : 1)
    assert.equal(after?.status?.goodMs, fault === 'stale' ? testNowMs : null)
    assert.equal(after?.status?.tookMs, fault === 'stale' ? 0 : null)
    if (fault === 'error') assert.match(after?.status?.reason ?? '', /returned status 500/)
  }
})

test('polling continues after failures and stores the rates when the source recovers', async () => {
  await using setup = await openFeedContext()
  setup.feed.setFault('north', 'error')
  setup.feed.setFault('south', 'error')
  const stop = new AbortController()
  const stopped = startRates(setup.context, stop.signal, setup.onPoll)
  await setup.until(2)
  setup.feed.setFault('north', undefined)
  setup.feed.setFault('south', undefined)
  setup.context.clock.advance(4000)
  await setup.until(4)
  assert.deepEqual(
    setup.reports.map(({ is }) => is),
    ['failed', 'failed', 'stored', 'stored'],
  )
  stop.abort()
  await stopped
})

test('the status of a source is stored every minute, even if the clock is set back', async () => {
  await using setup = await openFeedContext()
  const { clock } = setup.context
  clock.wrongByMs = 86_400_000
  const stop = new AbortController()
  const stopped = startRates(setup.context, stop.signal, setup.onPoll)
  await setup.until(2)
  clock.wrongByMs = 0
  clock.advance(60_000)
  await setup.until(4)
  stop.abort()
  await stopped
  const health = await readSourceHealth(setup.context)
  assert.deepEqual(
    health.map(({ status }) => status?.triedMs),
    health.map(() => clock.now()),
  )
})

test('a slow source delays neither other sources nor the stop', async () => {
  await using setup = await openFeedContext()
  setup.feed.setFault('north', 'slow')
  const stop = new AbortController()
  const stopped = startRates(setup.context, stop.signal, setup.onPoll)
  await setup.until(1)
  assert.deepEqual(
    setup.reports.map(({ source }) => source),
    ['demo-south'],
  )
  stop.abort()
  await stopped
})

test('an outlier is excluded from quotes; without a majority, quotes are refused', async () => {
  const sources = ['a', 'b', 'c'].map((id) => ({ ...source, id, staleMs: 60_000 }))
  await using context = await openContext({ fx: { sources } })
  const publish = (id: string, rate: string) =>
    storeRates(context.state, id, [{ ...eurUsd(rate, context.clock.now()), source: id }], context.clock.now())
  await Promise.all([publish('a', '1.25'), publish('b', '1.25'), publish('c', '1.40')])
  const statuses = async () =>
    (await readSourceHealth(context)).map(({ rates }) => rates.map(({ status }) => status).join())
  assert.deepEqual(await statuses(), ['used', 'used', 'outlier'])
  assert.match((await rateFindings(context))[0]?.message ?? '', /c EUR\/USD 0 s old, outlier/)
  const priced = await quoteFrom(context)
  assert.equal(priced.is === 'bytes' && JSON.parse(new TextDecoder().decode(priced.bytes)).rate, 0.7996)
  context.clock.advance(1)
  await publish('b', '1.40')
  context.clock.advance(1)
  await publish('a', '1.60')
  assert.deepEqual(await statuses(), ['outlier', 'used', 'used'])
  context.clock.advance(1)
  await publish('b', '1.20')
  assert.deepEqual(await statuses(), ['outlier', 'outlier', 'outlier'])
  const [finding] = await rateFindings(context)
  assert.equal(finding?.ok, false)
  assert.match(
    finding?.message ?? '',
    /^sources disagree on the rate between USD and EUR: a EUR\/USD 0 s old, outlier; /,
  )
  await assert.rejects(quoteFrom(context), /fx\.rate_disputed: USD\/EUR/)
})

test('readiness distinguishes missing and disputed rates, also for tradable quotes only', async () => {
  const token = (code: string, tracks: string) => ({ code, tracks, decimals: 6, contract: `0x${'44'.repeat(20)}` })
  const fx = {
    spender: `0x${'33'.repeat(20)}`,
    tokens: [token('USDC', 'USD'), token('EURC', 'EUR'), token('GBPC', 'GBP')],
    sources: ['a', 'b', 'c'].map((id) => ({ ...source, id, staleMs: 60_000, tradable: id !== 'c' })),
  }
  await using context = await openContext({ fx })
  const publish = (id: string, base: string, rate: string) =>
    storeRates(context.state, id, [{ source: id, base, quote: 'USD', rate, atMs: testNowMs }], testNowMs)
  await Promise.all([publish('a', 'EUR', '1.25'), publish('b', 'EUR', '1.40')])
  const message = async () => (await rateFindings(context))[0]?.message ?? ''
  assert.match(
    await message(),
    /^no fresh rate between USD and GBP; sources disagree on the rate between USD and EUR: a EUR/,
  )
  await Promise.all([publish('c', 'EUR', '1.25'), publish('a', 'GBP', '1.5')])
  assert.match(await message(), /^sources for tradable quotes disagree on the rate between USD and EUR: a EUR/)
})

test('a failing source is retried within a sixth of its staleMs, however long it has failed', async () => {
  const away = { id: 'away', kind: 'file', path: '/nowhere/rates.json', everyMs: 5000, staleMs: 60_000 }
  await using context = await openContext({ fx: { sources: [away] } })
  const stop = new AbortController()
  let [seen, wake] = [0, () => {}]
  const stopped = startRates(context, stop.signal, () => {
    seen += 1
    wake()
  })
  for (let failures = 1; failures <= 8; failures++) {
    if (seen < failures) await new Promise<void>((resolve) => (wake = resolve))
    context.clock.advance(10_000)
  }
  stop.abort()
  await stopped
})

/** A source with a limit of 25 h, like a price feed contract, polled every 5 s on the test's clock. */
async function openSlowFeed(aggregator?: string) {
  const bare = await openContext()
  const path = join(bare.dir, 'rates.json')
  const kind = aggregator
    ? { kind: 'aggregator', url: aggregator, contract: `0x${'12'.repeat(20)}`, pair: 'EUR/USD' }
    : { kind: 'file', path }
  const slow = { id: 'a', everyMs: 5000, timeoutMs: 4000, staleMs: 25 * 3_600_000, ...kind }
  const context = { ...bare, settings: settingsWith({ fx: { sources: [slow] } }) }
  const stop = new AbortController()
  let polled = Promise.withResolvers<void>()
  let stopped: Promise<void> | undefined
  return {
    context,
    path,
    /** Polls the source once; after a failure the wait is longer than the interval. */
    async poll(waitMs = 5000) {
      polled = Promise.withResolvers<void>()
      if (stopped) bare.clock.advance(waitMs)
      else stopped = startRates(context, stop.signal, () => polled.resolve())
      await polled.promise
    },
    rateStatus: async () => (await readSourceHealth(context))[0]?.rates[0]?.status,
    async [Symbol.asyncDispose]() {
      stop.abort()
      await stopped
      await bare[Symbol.asyncDispose]()
    },
  }
}

test('a rate that its source no longer returns prices no quotes, even if it is not stale', async () => {
  await using setup = await openSlowFeed()
  const { context, path, poll, rateStatus } = setup
  const time = new Date(testNowMs - 3_600_000).toISOString()
  const publish = () => writeFile(path, JSON.stringify({ rates: [{ base: 'EUR', quote: 'USD', rate: '1.25', time }] }))
  await publish()
  await poll()
  // For ten minutes the source returns the same rate.
  for (let polls = 0; polls < 120; polls++) await poll()
  assert.equal(await rateStatus(), 'used')
  await rm(path)
  await poll()
  await poll(10_000)
  assert.equal(await rateStatus(), 'used', 'two failures do not make it unusable')
  assert.equal((await quoteFrom(context)).is, 'bytes')
  await poll(20_000)
  assert.equal(await rateStatus(), 'unconfirmed')
  await assert.rejects(
    quoteFrom(context),
    /fx\.rate_stale: USD\/EUR: a EUR\/USD 1\.25 71 min old, confirmation 35 s old/,
  )
  const [ready] = await rateFindings(context)
  assert.equal(ready?.ok, false)
  assert.match(ready?.message ?? '', /a EUR\/USD 71 min old, unconfirmed; a failed 3 times in a row/)
  await publish()
  await poll(40_000)
  assert.equal(await rateStatus(), 'used')
  assert.equal((await quoteFrom(context)).is, 'bytes')
})

/** A node with a price feed contract, and what it returns next. */
async function serveFeedContract() {
  const next = { price: 125_000_000n, chainId: 1, blockMs: () => testNowMs }
  const word = (value: bigint) => value.toString(16).padStart(64, '0')
  const updatedAt = BigInt(testNowMs / 1000 - 3600)
  const resultOf = (method: string, data: string | undefined) => {
    if (method === 'eth_chainId') return `0x${next.chainId.toString(16)}`
    if (method === 'eth_getBlockByNumber') return { timestamp: `0x${Math.floor(next.blockMs() / 1000).toString(16)}` }
    const words = data === '0x313ce567' ? [8n] : [7n, next.price, 0n, updatedAt, 7n]
    return `0x${words.map(word).join('')}`
  }
  const reply = ({ id, method, params }: { id: number; method: string; params: [{ data?: string } | string] }) => {
    const [first] = params
    return { jsonrpc: '2.0', id, result: resultOf(method, typeof first === 'object' ? first.data : undefined) }
  }
  const server = createServer(async (request, response) => {
    const body = JSON.parse(Buffer.concat(await request.toArray()).toString())
    response.end(JSON.stringify(Array.isArray(body) ? body.map(reply) : reply(body)))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const setup = await openSlowFeed(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  next.blockMs = () => setup.context.clock.now()
  const reason = async () => (await readSourceHealth(setup.context))[0]?.status?.reason ?? ''
  return {
    ...setup,
    next,
    reason,
    async [Symbol.asyncDispose]() {
      await setup[Symbol.asyncDispose]()
      server.close()
    },
  }
}

test('a price feed contract that returns 0 prices no quotes', async () => {
  await using feed = await serveFeedContract()
  await feed.poll()
  assert.equal(await feed.rateStatus(), 'used')
  feed.next.price = 0n
  for (let polls = 0; polls < 5; polls++) await feed.poll()
  assert.equal(await feed.rateStatus(), 'used')
  await feed.poll()
  assert.equal(await feed.rateStatus(), 'unconfirmed')
  await assert.rejects(quoteFrom(feed.context), /fx\.rate_stale/)
  assert.match(await feed.reason(), /the price is not above zero/)
})

test('a node that does not sync any more confirms no price', async () => {
  await using feed = await serveFeedContract()
  await feed.poll()
  assert.equal(await feed.rateStatus(), 'used')
  const stoppedMs = feed.context.clock.now()
  feed.next.blockMs = () => stoppedMs
  feed.context.clock.advance(605_000)
  for (let polls = 0; polls < 2; polls++) await feed.poll(60_000)
  assert.match(await feed.reason(), /newest block is \d+ min old; it does not sync/)
  assert.equal(await feed.rateStatus(), 'unconfirmed')
  await assert.rejects(quoteFrom(feed.context), /fx\.rate_stale/)
})

test('a node that changes its chain while the server runs confirms no price', async () => {
  await using feed = await serveFeedContract()
  await feed.poll()
  assert.equal(await feed.rateStatus(), 'used')
  feed.next.chainId = 137
  for (let polls = 0; polls < 3; polls++) await feed.poll(60_000)
  assert.match(await feed.reason(), /is on chain 137, not 1/)
  assert.equal(await feed.rateStatus(), 'unconfirmed')
})

test('history lists the rates of every source, newest first, within the limits', async () => {
  await using context = await openContext()
  await storeRates(context.state, 'a', [eurUsd('1.08', 1000), eurUsd('1.09', 2000), eurUsd('1.10', 3000)], 3500)
  await storeRates(context.state, 'b', [{ ...eurUsd('1.11', 2000), source: 'b' }], 3600)
  const read = async (changes: object) =>
    (
      await rateHistory(context.state, {
        base: 'EUR',
        quote: 'USD',
        fromMs: 0,
        untilMs: 10_000,
        rowsMax: 10,
        ...changes,
      })
    ).map(({ source, rate, receivedMs }) => `${source} ${rate} ${receivedMs}`)
  assert.deepEqual(await read({}), ['a 1.10 3500', 'a 1.09 3500', 'b 1.11 3600', 'a 1.08 3500'])
  assert.deepEqual(await read({ source: 'b' }), ['b 1.11 3600'])
  assert.deepEqual(await read({ fromMs: 2000, untilMs: 3000 }), ['a 1.09 3500', 'b 1.11 3600'])
  assert.deepEqual(await read({ rowsMax: 2 }), ['a 1.10 3500', 'a 1.09 3500'])
  assert.deepEqual(await read({ base: 'USD', quote: 'EUR' }), [])
})

test('rates older than historyDays are deleted a few at a time; the latest stays', async () => {
  await using context = await openContext()
  const dayMs = 86_400_000
  const nowMs = testNowMs
  const rules = { keptFromMs: nowMs - 30 * dayMs, tolerancePpm: 0n }
  const old = Array.from({ length: 15 }, (_, at) => eurUsd(`1.${at + 10}`, nowMs - 40 * dayMs + at))
  await storeRates(context.state, 'a', old, nowMs - 40 * dayMs)
  await storeRates(context.state, 'a', [eurUsd('1.5', nowMs)], nowMs, rules)
  const [count] = await context.state.all<{ n: number }>('select count(*) as n from fx_rates')
  assert.equal(count?.n, 15 - 10 + 1)
  await storeRates(context.state, 'a', [eurUsd('1.6', nowMs + 1)], nowMs, rules)
  assert.deepEqual(await history(context), [
    { rate: '1.5', atMs: nowMs, receivedMs: nowMs },
    { rate: '1.6', atMs: nowMs + 1, receivedMs: nowMs },
  ])
})
