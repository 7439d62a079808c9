// Three rate sources of different kinds, one of which alters one answer. A price of the pair that all three have stays
// within their true rates, and two polls after the source has recovered, the latest rates are true.
import assert from 'node:assert/strict'
import { compareFractions, decimal, type Fraction, fractionOf } from '#core/decimal.ts'
import type { FxContext } from '#fx/context.ts'
import { findMid, isFresh } from '#fx/pricing/mid.ts'
import { outlierPpm } from '#fx/pricing/resolve-offer.ts'
import { readSource } from '#fx/rates/poll-rates.ts'
import { allLatestRates } from '#fx/rates/rate-store.ts'
import { openRateReader } from '#fx/rates/sources.ts'
import { createSeededRandom } from '#simulator/seeded-random.ts'
import type { AlteredRun } from './altered-seeds.ts'
import { type AnswerServer, serveAnswers } from './altering-proxy.ts'
import { settingsWith, type TestContext, testNowMs } from './context.ts'
import { JumpingClock } from './jumping-clock.ts'

const stepMs = 60_000
const dayMs = 86_400_000
const polls = 5
export const rateWorlds = 20

interface TrueRate {
  readonly pair: string
  readonly rate: string
  readonly atMs: number
}

/** What the sources publish at a time. Rates of the three sources differ by less than a percent. */
class RateWorld {
  readonly clock = new JumpingClock(testNowMs)
  /** Counts the publications of the sources that publish every minute. */
  step = 0
  readonly #number: number

  constructor(number: number) {
    this.#number = number
  }

  ratesOf(source: 'document' | 'feed' | 'bank'): TrueRate[] {
    // The bank publishes once a day, at 14:10 in Frankfurt.
    const atMs = source === 'bank' ? testNowMs - 22 * 3_600_000 - 50 * 60_000 : testNowMs + this.step * stepMs
    const draws = createSeededRandom(`rates ${this.#number} ${source} ${atMs}`)
    const vary = (level: number, places: number) => (level * (1 + (draws.next() - 0.5) / 200)).toFixed(places)
    const all = [
      { pair: 'EUR/USD', rate: vary(1.0842, 6), atMs },
      { pair: 'EUR/GBP', rate: vary(0.8571, 6), atMs },
      { pair: 'EUR/JPY', rate: vary(161.23, 4), atMs },
    ]
    return source === 'feed' ? all.slice(0, 1) : all
  }

  answer(path: string, sent: string): { body: string; type?: string } {
    if (path === '/document') {
      const rates = this.ratesOf('document').map(({ pair, rate, atMs }) => {
        const [base, quote] = pair.split('/')
        return { base, quote, rate, time: new Date(atMs).toISOString() }
      })
      return { body: JSON.stringify({ rates }) }
    }
    if (path === '/bank') {
      const rates = this.ratesOf('bank')
      const day = new Date(rates[0]?.atMs ?? 0).toISOString().slice(0, 10)
      const cubes = rates.map(({ pair, rate }) => `<Cube currency="${pair.slice(4)}" rate="${rate}"/>`)
      return { type: 'text/xml', body: `<Cube><Cube time="${day}">${cubes.join('')}</Cube></Cube>` }
    }
    const calls = JSON.parse(sent) as Call | Call[]
    const replies = [calls].flat().map((call) => ({ jsonrpc: '2.0', id: call.id, result: this.#callResult(call) }))
    return { body: JSON.stringify(Array.isArray(calls) ? replies : replies[0]) }
  }

  #callResult({ method, params }: Call): unknown {
    if (method === 'eth_chainId') return '0x1'
    if (method === 'eth_getBlockByNumber') return { timestamp: `0x${Math.floor(this.clock.now() / 1000).toString(16)}` }
    if (params[0]?.data === '0x313ce567') return toWords(8n)
    const [truth] = this.ratesOf('feed')
    assert.ok(truth)
    const round = BigInt(Math.floor(truth.atMs / 1000))
    return toWords(round, BigInt(Math.round(Number(truth.rate) * 1e8)), round, round, round)
  }
}

interface Call {
  readonly id: number
  readonly method: string
  readonly params: readonly { readonly data: string }[]
}

const toWords = (...values: bigint[]): string =>
  `0x${values.map((value) => value.toString(16).padStart(64, '0')).join('')}`

const sourceNames = ['document', 'feed', 'bank'] as const

function openWorld(database: TestContext, server: AnswerServer, number: number, run: number) {
  const world = new RateWorld(number)
  const common = { staleMs: 2 * dayMs, everyMs: 10_000, timeoutMs: 10_000 }
  const ids = sourceNames.map((name) => `${name}-${run}`)
  const sources = [
    { id: ids[0], kind: 'http-json', url: `${server.url}/document`, ...common },
    {
      ...{ id: ids[1], kind: 'aggregator', url: `${server.url}/feed`, ...common },
      ...{ pair: 'EUR/USD', contract: `0x${'ab'.repeat(20)}`, chainId: 1 },
    },
    { id: ids[2], kind: 'ecb', url: `${server.url}/bank`, ...common, closed: {} },
  ]
  const settings = settingsWith({ fx: { sources } })
  const context: FxContext = { ...database, clock: world.clock, settings }
  const readers = settings.fx.sources.map((source) => {
    const reader = openRateReader(source, settings.fx, world.clock)
    assert.ok(reader)
    return { source, reader }
  })
  return { world, context, readers, ids }
}

let runs = 0

/** The server is shared by all runs, which run one after the other. */
export async function openAlteredRates(database: TestContext): Promise<AsyncDisposable & { readonly run: AlteredRun }> {
  let world = new RateWorld(0)
  const server = await serveAnswers(({ path, sent }) => world.answer(path, sent))
  const run: AlteredRun = async (seed, alterer) => {
    const opened = openWorld(database, server, seed % rateWorlds, ++runs)
    world = opened.world
    server.alterer = alterer
    const { context, readers, ids } = opened
    const isRefused = { now: false }
    const truths: Fraction[] = []
    const poll = async () => {
      for (const { source, reader } of readers) {
        const signal = AbortSignal.timeout(30_000)
        const done = readSource(context, source, reader, signal).then(
          ({ rejected }) => rejected.length > 0,
          () => true,
        )
        if (await done) isRefused.now = true
      }
    }
    const latest = async () => (await allLatestRates(database.state)).filter(({ source }) => ids.includes(source))
    for (let at = 0; at < polls; at++) {
      for (const name of sourceNames) truths.push(fractionOfRate(world.ratesOf(name)[0] as TrueRate))
      await poll()
      await assertPriceIsTrue(context, await latest(), truths)
      world.clock.advance(stepMs)
      world.step += 1
    }
    alterer.stop()
    const wasRefused = isRefused.now
    // The bank publishes nothing new, so its rates have the same time as the altered ones.
    await poll()
    // A pair that only the altered answer had is not confirmed any more.
    world.clock.advance(2 * stepMs)
    await poll()
    const publishedMs = world.clock.now()
    const fresh = (await latest()).filter((rate) => isFresh(rate, context.settings.fx.sources, publishedMs))
    const expected = sourceNames.flatMap((name, at) =>
      world.ratesOf(name).map(({ pair, rate }) => ({ source: ids[at], pair, rate: Number(rate) })),
    )
    const actual = fresh.map(({ source, base, quote, rate }) => ({
      source,
      pair: `${base}/${quote}`,
      rate: Number(rate),
    }))
    const inOrder = (rates: readonly { source: string | undefined; pair: string }[]) =>
      rates.toSorted((a, b) => (`${a.source} ${a.pair}` < `${b.source} ${b.pair}` ? -1 : 1))
    assert.deepEqual(inOrder(actual), inOrder(expected), 'the latest rates')
    return wasRefused
  }
  return { run, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() }
}

const fractionOfRate = ({ rate }: TrueRate): Fraction => fractionOf(decimal(rate))

async function assertPriceIsTrue(
  context: FxContext,
  latest: Awaited<ReturnType<typeof allLatestRates>>,
  truths: readonly Fraction[],
): Promise<void> {
  const { fx } = context.settings
  const fresh = latest.filter((rate) => isFresh(rate, fx.sources, context.clock.now()))
  const result = findMid(fresh, 'EUR', 'USD', { crossVia: [], outlierPpm: outlierPpm(fx) })
  if (result.is !== 'mid') return
  const { value } = result.mid
  const [lowest, highest] = [truths.toSorted(compareFractions)[0], truths.toSorted(compareFractions).at(-1)]
  assert.ok(lowest && highest)
  assert.ok(
    compareFractions(value, lowest) >= 0 && compareFractions(value, highest) <= 0,
    'the price is not between true rates',
  )
}
