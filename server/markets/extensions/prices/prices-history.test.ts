// Past prices of an outcome: from versions, for tokens and markets, while open, closed, vanished and after deletions.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Fault } from '#core/fault.ts'
import { parser } from '#http/parse.ts'
import { openContext, type TestContext, testNowMs, testRequestInfo } from '#test/context.ts'
import { markVanished, recordPresence } from '../../feeds/feed-presence.ts'
import { storeFeedState } from '../../feeds/feed-progress.ts'
import { newFeedState } from '../../read/feed-state.ts'
import { putMarkets } from '../../write/put-markets.ts'
import { dropVersionsBefore } from '../../write/version-writer.ts'
import { pricesHistory } from './prices-history.ts'

const minuteMs = 60_000
const startTs = testNowMs / 1000

async function put(context: TestContext, yes: string | null, more: object = {}) {
  const outcomePrices = yes === null ? null : JSON.stringify([yes, String(1 - Number(yes))])
  const fields = { slug: 'bridge', clobTokenIds: '["11","12"]', conditionId: '0xAb', outcomePrices, ...more }
  await context.ingest.write((tx) => putMarkets(tx, [{ kind: 'market', id: '501', fields }], context.clock.now()))
}

async function ask(context: TestContext, query: Readonly<Record<string, string>>) {
  const parts = { params: {}, query, headers: {}, contentType: '', body: undefined }
  const input = parser(pricesHistory.endpoint)(parts)
  const result = await pricesHistory.handle(input, context, testRequestInfo())
  if (result.is !== 'bytes') return { points: result.is, coverage: result.is }
  const { history } = JSON.parse(Buffer.from(result.bytes).toString()) as { history: { t: number; p: number }[] }
  const points = history.map(({ t, p }) => [(t - startTs) / 60, p])
  return { points, coverage: result.confidence?.coverage }
}

/** Prices of 0.1, 0.2, 0.3 and 0.4, two minutes after each other, and one minute more. */
async function withFourPrices(): Promise<TestContext> {
  const context = await openContext()
  for (const price of ['0.1', '0.2', '0.3', '0.4']) {
    await put(context, price)
    context.clock.advance(2 * minuteMs)
  }
  context.clock.advance(-minuteMs)
  return context
}

describe('price history', () => {
  test('has the price at every step, by token, condition and id', async () => {
    await using context = await withFourPrices()
    const points = [0.1, 0.1, 0.2, 0.2, 0.3, 0.3, 0.4, 0.4].map((price, minute) => [minute, price])
    for (const market of ['11', '0xAb', '501'])
      assert.deepEqual(await ask(context, { market, interval: 'max' }), { points, coverage: 'complete' })
    const no = await ask(context, {
      market: '12',
      fidelity: '2',
      startTs: String(startTs),
      endTs: String(startTs + 240),
    })
    assert.deepEqual(no, {
      points: [
        [0, 0.9],
        [2, 0.8],
        [4, 0.7],
      ],
      coverage: 'complete',
    })
    const end = await ask(context, { market: '11', startTs: String(startTs + 61), endTs: String(startTs + 150) })
    assert.deepEqual(
      end.points,
      [
        [2, 0.2],
        [2.5, 0.2],
      ],
      'the last point is the end of the period',
    )
  })

  test('prices are parsed once for each change of them, and tokens once', async (t) => {
    await using context = await withFourPrices()
    for (let volume = 0; volume < 20; volume++) await put(context, '0.4', { volume: String(volume) })
    const parse = t.mock.method(JSON, 'parse')
    await ask(context, { market: '11', interval: 'max' })
    const texts = parse.mock.calls.map((call) => String(call.arguments[0]))
    const count = (isCounted: (text: string) => boolean) => texts.filter(isCounted).length
    assert.equal(
      count((text) => text === '["11","12"]'),
      1,
    )
    const prices = count((text) => text.startsWith('["0.'))
    assert.ok(prices > 0 && prices <= 4, `${prices} lists of prices`)
  })

  test('versions that change something else do not matter', async () => {
    await using context = await withFourPrices()
    await put(context, '0.4', { volume: '5' })
    context.clock.advance(minuteMs)
    assert.deepEqual((await ask(context, { market: '11', startTs: String(startTs + 420) })).points, [
      [7, 0.4],
      [8, 0.4],
    ])
  })

  test('of a closed market is there, and ends with its last change', async () => {
    await using context = await withFourPrices()
    await put(context, '1', { closed: true })
    context.clock.advance(86_400_000)
    const { points, coverage } = await ask(context, { market: '11', interval: 'max' })
    assert.deepEqual([points.at(0), points.at(-1), coverage], [[0, 0.1], [7, 1], 'complete'])
    assert.deepEqual((await ask(context, { market: '11', interval: '1h', fidelity: '60' })).points, [
      [1440, 1],
      [1447, 1],
    ])
  })

  test('has no points in gaps, and the coverage names the known ranges', async () => {
    await using context = await withFourPrices()
    await put(context, null)
    context.clock.advance(2 * minuteMs)
    await put(context, '0.6')
    context.clock.advance(minuteMs)
    assert.deepEqual(await ask(context, { market: '11', startTs: String(startTs + 360) }), {
      points: [
        [6, 0.4],
        [9, 0.6],
        [10, 0.6],
      ],
      coverage: `${startTs + 360}-${startTs + 420},${startTs + 540}-${startTs + 601}`,
    })
    const before = await ask(context, { market: '11', startTs: String(startTs - 120), endTs: String(startTs) })
    assert.deepEqual(before, { points: [[0, 0.1]], coverage: `${startTs}-${startTs + 1}` })
    const never = await ask(context, { market: '11', startTs: String(startTs - 120), endTs: String(startTs - 60) })
    assert.deepEqual(never, { points: [], coverage: 'none' })
  })

  test('has a gap while no feed lists the market', async () => {
    await using context = await withFourPrices()
    await context.ingest.write((tx) => recordPresence(tx, 'feed', ['501'], 1, context.clock.now()))
    context.clock.advance(minuteMs)
    await context.ingest.write((tx) => markVanished(tx, 'feed', [], 3, 2, context.clock.now()))
    context.clock.advance(2 * minuteMs)
    await context.ingest.write((tx) => recordPresence(tx, 'feed', ['501'], 4, context.clock.now()))
    context.clock.advance(minuteMs)
    const { points, coverage } = await ask(context, { market: '11', startTs: String(startTs + 420) })
    assert.deepEqual(points, [
      [7, 0.4],
      [10, 0.4],
      [11, 0.4],
    ])
    assert.equal(coverage, `${startTs + 420}-${startTs + 480},${startTs + 600}-${startTs + 661}`)
  })

  test('begins where versions have been deleted', async () => {
    await using context = await withFourPrices()
    await context.ingest.write((tx) => dropVersionsBefore(tx, testNowMs + 3 * minuteMs))
    const { points, coverage } = await ask(context, { market: '11', startTs: String(startTs) })
    assert.deepEqual([points.at(0), coverage], [[3, 0.2], `${startTs + 180}-${startTs + 421}`])
  })

  test('refuses two periods, too many points and unknown markets', async () => {
    await using context = await withFourPrices()
    const isInvalid = (name: string) => (fault: Fault) => fault.problems[0]?.at[1] === name
    await assert.rejects(ask(context, { market: '11', interval: '1d', startTs: '5' }), isInvalid('interval'))
    await assert.rejects(ask(context, { market: '11', startTs: '5', endTs: '5' }), isInvalid('endTs'))
    await assert.rejects(ask(context, { market: '11', startTs: '0', fidelity: '1' }), isInvalid('fidelity'))
    assert.equal((await ask(context, { market: '13' })).points, 'nothing')
  })

  test('of an unknown market is no 404 until the feeds have been read', async () => {
    await using context = await openContext({
      markets: { feeds: [{ id: 'source', url: 'http://feeds.test/markets' }] },
    })
    await context.ingest.write((tx) => storeFeedState(tx, newFeedState('source')))
    await assert.rejects(ask(context, { market: '13' }), { code: 'markets.not_covered' })
  })
})

test('an unknown token is not "slug not found"', () => {
  const body = { type: 'not found error', error: 'market not found' }
  assert.deepEqual(pricesHistory.errorFormat.renderNotFound(), { status: 404, body })
})
