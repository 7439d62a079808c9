import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { decimal, formatDecimal, trimZeros } from '#core/decimal.ts'
import { openContext, settingsWith, testNowMs, testRequestInfo } from '#test/context.ts'
import { createQuote } from '../endpoints/create-quote.ts'
import { rateFindings, startRates } from './poll-rates.ts'
import { readSourceHealth, sourcesReport } from './source-health.ts'

type Entry = readonly [pair: string, rate: string, agoMs?: number]

/** A JSON file as the only source, polled every 5 s on the test's clock. */
async function openSource(changes: object = {}) {
  const bare = await openContext()
  const path = join(bare.dir, 'rates')
  const fx = { sources: [{ id: 'desk', kind: 'file', path, everyMs: 5000, staleMs: 86_400_000, ...changes }] }
  const context = { ...bare, settings: settingsWith({ fx }) }
  const stop = new AbortController()
  let polled = Promise.withResolvers<void>()
  let stopped: Promise<void> | undefined
  const pollText = async (text: string) => {
    await writeFile(path, text)
    polled = Promise.withResolvers<void>()
    if (stopped) bare.clock.advance(5000)
    else stopped = startRates(context, stop.signal, () => polled.resolve())
    await polled.promise
    return quoteText()
  }
  const quoteText = async () => {
    const body = { from: { currency: 'EURC', amount: '1000' }, to: { currency: 'USDC' } } as const
    const outcome = await createQuote
      .handle({ ...body, tenor: 'instant', type: 'reference' }, context, testRequestInfo())
      .catch((error: Error) => error.message.split(':')[0])
    if (typeof outcome === 'string' || outcome === undefined) return outcome
    return outcome.is === 'bytes' ? String(JSON.parse(new TextDecoder().decode(outcome.bytes)).rate) : outcome.is
  }
  return {
    context,
    pollText,
    /** Polls a document with these entries. Returns the rate of a quote, or the code of its error. */
    poll: (...entries: Entry[]) => {
      const rates = entries.map(([pair, rate, agoMs = 0]) => {
        const [base, quote] = pair.split('/')
        return { base, quote, rate, time: testNowMs - agoMs }
      })
      return pollText(JSON.stringify({ rates }))
    },
    ready: async () => (await rateFindings(context))[0]?.message ?? '',
    report: async () => (await sourcesReport(context)).sources[0]?.contradictions.join('; ') ?? '',
    status: async () => (await readSourceHealth(context))[0]?.rates.map(({ rate, status }) => `${rate} ${status}`),
    async [Symbol.asyncDispose]() {
      stop.abort()
      await stopped
      await bare[Symbol.asyncDispose]()
    },
  }
}

const stale = 'fx.rate_stale'

test('two prices for one pair and time never price a quote, however often the source returns them', async () => {
  await using source = await openSource()
  const quotes: unknown[] = []
  for (let polls = 0; polls < 7; polls++) quotes.push(await source.poll(['EUR/USD', '1.05'], ['EUR/USD', '1.50']))
  assert.deepEqual(quotes, Array(7).fill(stale))
  assert.match(
    await source.ready(),
    /: desk contradicts itself about the rate between EUR and USD; desk: no rate received$/,
  )
  assert.equal(await source.report(), 'EUR/USD: two prices for 2026-11-15T12:00:00.000Z: 1.05 and 1.50')
  assert.deepEqual(await source.status(), [], 'neither is stored')
})

test('the latest rate stops counting at once when a document contradicts itself, at the same or a later time', async () => {
  for (const agoMs of [0, 60_000]) {
    await using source = await openSource()
    assert.equal(await source.poll(['EUR/USD', '1.05', agoMs]), '1.049475')
    for (let polls = 0; polls < 3; polls++)
      assert.equal(await source.poll(['EUR/USD', '1.05', agoMs], ['EUR/USD', '1.05'], ['EUR/USD', '1.50']), stale)
    assert.deepEqual(await source.status(), ['1.05 contradicted'])
    assert.match(
      await source.ready(),
      /^no fresh rate .*: desk contradicts itself .*; desk EUR\/USD .* old, contradicted$/,
    )
  }
})

test('one of the contradictory prices alone counts after two polls, a newer one at once', async () => {
  await using source = await openSource()
  const both: Entry[] = [
    ['EUR/USD', '1.05', 60_000],
    ['EUR/USD', '1.50', 60_000],
  ]
  assert.equal(await source.poll(...both), stale)
  assert.equal(await source.poll(['EUR/USD', '1.50', 60_000]), stale)
  assert.match(await source.report(), /: the source returned EUR\/USD 1\.05 and EUR\/USD 1\.5, then EUR\/USD 1\.5 for /)
  assert.equal(await source.poll(['EUR/USD', '1.50', 60_000]), '1.49925')
  assert.doesNotMatch(await source.ready(), /contradict/)
  assert.equal(await source.poll(...both), stale)
  assert.equal(await source.poll(['EUR/USD', '1.06']), '1.05947')
  assert.doesNotMatch(await source.ready(), /contradict/)
  assert.equal(await source.report(), '')
})

test('a source that alternates between two prices for one time prices nothing', async () => {
  await using source = await openSource()
  const quotes: unknown[] = []
  for (let polls = 0; polls < 6; polls++) quotes.push(await source.poll(['EUR/USD', polls % 2 === 0 ? '1.05' : '1.50']))
  assert.deepEqual(quotes, ['1.049475', ...Array(5).fill(stale)])
})

test('a third price does not correct a contradiction', async () => {
  await using source = await openSource()
  await source.poll(['EUR/USD', '1.05'])
  await source.poll(['EUR/USD', '1.06'])
  assert.equal(await source.poll(['EUR/USD', '1.50']), stale)
})

test('both orientations of a pair may differ by outlierBps; beyond it they contradict each other', async () => {
  await using source = await openSource()
  assert.equal(await source.poll(['EUR/USD', '1.25'], ['USD/EUR', '0.79']), '1.249375', '1.25 × 0.79 = 0.9875')
  for (let polls = 0; polls < 3; polls++)
    assert.equal(await source.poll(['EUR/USD', '1.25'], ['USD/EUR', '0.5']), stale)
  assert.match(await source.report(), /^EUR\/USD: the price for 2026-.* is 1\.25, and that of USD\/EUR is 0\.5$/)
  assert.equal(await source.poll(['USD/EUR', '0.5']), stale)
  assert.match(await source.report(), /^EUR\/USD: the source returned .*, then USD\/EUR 0\.5 for /)
})

test('the other orientation is compared with the stored rate of the same time', async () => {
  await using source = await openSource()
  await source.poll(['EUR/USD', '1.25'])
  assert.equal(await source.poll(['USD/EUR', '0.5']), stale)
})

test('a price listed twice is no contradiction, and other pairs of the document count', async () => {
  await using source = await openSource()
  assert.equal(await source.poll(['EUR/USD', '1.05'], ['EUR/USD', '1.050']), '1.049475')
  assert.equal(await source.report(), '')
  const gbp: Entry[] = [
    ['GBP/USD', '1.3'],
    ['GBP/USD', '1.4'],
  ]
  assert.equal(await source.poll(['EUR/USD', '1.05'], ...gbp), '1.049475')
  assert.match(
    await source.ready(),
    /^desk contradicts itself about the rate between GBP and USD; desk EUR\/USD 5 s old$/,
  )
})

test('a contradiction about an earlier time is reported, and the newer rate counts', async () => {
  await using source = await openSource()
  const document: Entry[] = [
    ['EUR/USD', '1.05', 60_000],
    ['EUR/USD', '1.50', 60_000],
    ['EUR/USD', '1.06'],
  ]
  for (let polls = 0; polls < 3; polls++) {
    assert.equal(await source.poll(...document), '1.05947')
    assert.match(await source.ready(), /^desk contradicts itself/)
  }
  await source.poll(['EUR/USD', '1.06'])
  assert.doesNotMatch(await source.ready(), /contradict/)
})

test('a contradiction is reported until the source has not repeated it for as long as a rate needs no confirmation', async () => {
  await using source = await openSource()
  await source.poll(['EUR/USD', '1.05'], ['EUR/USD', '1.50'])
  await source.poll()
  assert.match(await source.ready(), /contradicts itself/)
  source.context.clock.advance(28_000)
  assert.doesNotMatch(await source.ready(), /contradict/)
})

test('ECB documents that list a currency or a day twice contribute neither price', async () => {
  const line = (rate: string) => `<Cube currency='USD' rate='${rate}'/>`
  const day = (...lines: string[]) => `<Cube time='2026-11-13'>${lines.join('')}</Cube>`
  for (const days of [day(line('1.05'), line('1.50')), day(line('1.05')) + day(line('1.50'))]) {
    await using source = await openSource({ kind: 'ecb' })
    for (let polls = 0; polls < 4; polls++) assert.equal(await source.pollText(`<Cube>${days}</Cube>`), stale)
    assert.match(await source.ready(), /desk contradicts itself/)
  }
})

test('a fixed pair for a document with several entries is a contradiction', async () => {
  await using source = await openSource({ pair: 'EUR/USD' })
  for (let polls = 0; polls < 4; polls++)
    assert.equal(await source.poll(['EUR/USD', '1.05'], ['GBP/USD', '1.30']), stale)
})

test('other sides with the same mean and time contradict the stored ones, and replace them after two equal polls', async () => {
  await using source = await openSource({ document: { bid: 'bid', ask: 'ask', sides: 'each' } })
  const poll = (bid: string, ask: string) =>
    source.pollText(JSON.stringify({ rates: [{ base: 'EUR', quote: 'USD', bid, ask, time: testNowMs }] }))
  const quoted = (bid: string) =>
    formatDecimal(trimZeros({ digits: decimal(bid).digits * 9995n, scale: decimal(bid).scale + 4 }))
  assert.equal(await poll('1.24', '1.26'), quoted('1.24'))
  assert.equal(await poll('1.240', '1.26'), quoted('1.24'))
  assert.equal(await poll('1.245', '1.255'), 'fx.rate_stale')
  assert.match(await source.report(), /two prices for .+: 1\.25 \(1\.24 to 1\.26\) and 1\.25 \(1\.245 to 1\.255\)/)
  assert.equal(await poll('1.245', '1.255'), quoted('1.245'))
})
