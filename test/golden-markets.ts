// Golden file of group D: responses about markets after random histories. Two feeds share events; records are partial, old,
// odd, missing and back; files are imported; the clock is set back; ticks and packs are merged. `node test/golden-markets.ts --write` writes it.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { startHttpServer } from '#http/http-server.ts'
import { createApp } from '#http/pipeline.ts'
import { readFeed } from '#markets/feeds/read-feed.ts'
import { Renames } from '#markets/records/decompose.ts'
import { mergePacks } from '#markets/ticks/merge-packs.ts'
import { mergeTicks } from '#markets/ticks/merge-ticks.ts'
import { importMarkets } from '#markets/write/import-markets.ts'
import { endpoints } from '#server/endpoints.ts'
import { extensions } from '#server/extensions.ts'
import { createSeededRandom, type SeededRandom } from '#simulator/seeded-random.ts'
import { everyone } from './authorization.ts'
import { openContext, type TestContext, testNowMs } from './context.ts'
import type { GoldenResponse } from './golden.ts'
import { writeGolden } from './golden.ts'
import { inject } from './inject.ts'

export const historyCount = 12
const marketCount = 7
const eventCount = 3
const stepCount = 14

type Members = Record<string, unknown>

/** Values as feeds send them, and as they should not. */
const oddValues: readonly unknown[] = [
  null,
  undefined,
  '',
  '0.10',
  '7',
  'many',
  -0,
  1e21,
  0.1 + 0.2,
  true,
  [1],
  { a: 1 },
]

/** The records at the source. */
class SourceWorld {
  readonly #draws: SeededRandom
  readonly markets: Members[]
  readonly events: Members[]
  readonly tags: Members[]
  /** What the source listed earlier, as JSON. */
  readonly earlier: string[] = []

  constructor(draws: SeededRandom, nowMs: number) {
    this.#draws = draws
    const updatedAt = isoOf(nowMs - 60_000)
    this.tags = ['Ports', 'Rail', 'Deep water'].map((label, at) => ({ id: String(70 + at), label, slug: `tag-${at}` }))
    this.events = Array.from({ length: eventCount }, (_, at) => ({
      ...{ id: String(10 + at), slug: `event-${at}`, title: `Event ${at}`, updatedAt, volume: at, liquidity: 5.5 },
      imageOptimized: { id: `9${at}`, relID: at },
    }))
    this.markets = Array.from({ length: marketCount }, (_, at) => ({
      ...{ id: String(500 + at), slug: `market-${at}`, question: `Will pier ${at} open?`, updatedAt, active: true },
      ...{ outcomes: '["Yes","No"]', clobTokenIds: `["1${at}","2${at}"]`, conditionId: `0x${at}`, closed: false },
      ...{
        outcomePrices: '["0.5","0.5"]',
        bestBid: 0.5,
        bestAsk: 0.51,
        lastTradePrice: 0.5,
        volume: '10',
        volumeNum: 10,
      },
    }))
  }

  eventOf = (market: Members): Members => this.events[Number(market.id) % eventCount] as Members

  /** Most changes are of prices and volumes. */
  change(nowMs: number): void {
    const draws = this.#draws
    for (const market of this.markets.filter(() => draws.happens(0.7))) {
      const price = draws.whole(1, 99) / 100
      const volume = draws.whole(1, 1e6) / 7
      market.updatedAt = isoOf(nowMs - draws.whole(0, 5000))
      if (draws.happens(0.7)) {
        Object.assign(market, { bestBid: price, bestAsk: price + 0.01, lastTradePrice: price })
        market.outcomePrices = JSON.stringify([String(price), String(1 - price)])
      }
      Object.assign(market, { volume: String(volume), volumeNum: volume, volume24hr: volume / 9 })
      Object.assign(this.eventOf(market), { volume, volume24hr: volume / 3, updatedAt: market.updatedAt })
      if (draws.happens(0.15)) market[draws.pick(['question', 'description'])] = `Text ${draws.whole(0, 5)}?`
      if (draws.happens(0.1)) market.slug = `market-${draws.whole(0, marketCount)}-${draws.whole(0, 3)}`
      if (draws.happens(0.1)) market.pastSlugs = JSON.stringify([`past-${draws.whole(0, 4)}`])
      const field = draws.pick([
        'bestBid',
        'volume',
        'volumeNum',
        'liquidity',
        'outcomePrices',
        'active',
        'novel',
        'score',
      ])
      if (draws.happens(0.2)) market[field] = oddValues[draws.whole(0, oddValues.length)]
      if (draws.happens(0.05)) market.closed = !market.closed
    }
    const event = draws.pick(this.events)
    if (draws.happens(0.3)) event.title = `Event ${draws.whole(0, 9)}`
    if (draws.happens(0.2)) event.liquidity = oddValues[draws.whole(0, oddValues.length)]
    if (draws.happens(0.1)) draws.pick(this.tags).label = `Label ${draws.whole(0, 9)}`
  }

  /** A market with its event and tags. */
  marketRecord(market: Members): Members {
    const tags = this.tags.filter((_, at) => (Number(market.id) + at) % 2 === 0)
    return { ...market, events: [this.eventOf(market)], tags }
  }

  eventRecord(event: Members): Members {
    return { ...event, tags: this.tags.slice(0, 1), markets: this.markets.filter((one) => this.eventOf(one) === event) }
  }
}

const isoOf = (ms: number) => new Date(ms).toISOString()

/** JSON with an integer beyond 2^53 and a number in another form here and there. */
function toText(draws: SeededRandom, records: readonly Members[]): string {
  const text = JSON.stringify(records)
  if (draws.happens(0.3)) return text.replace('"score":null', '"score":12345678901234567890')
  return draws.happens(0.3) ? text.replace(/"bestBid":0\.(\d)\d?,/, '"bestBid":0.$10,') : text
}

/** Runs one history and returns the responses at its end. */
export async function respondToHistory(number: number): Promise<GoldenResponse[]> {
  const draws = createSeededRandom(`markets/${number}`)
  let page = '[]'
  const server = createServer((_, response) => response.end(page))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const paging = { kind: 'none' }
  const shared = { url, perSecond: 1000, fullEveryMs: 1000, vanishAfter: 1, vanishShareMax: 1, paging }
  const feeds = [
    { id: 'markets', ...shared },
    { id: 'events', record: 'event', ...shared },
  ]
  await using opened = await openContext({ markets: { feeds } })
  // Pauses between requests take no time, so that every run has the same times.
  const clock = { ...timesOf(opened), sleep: async () => {}, every: () => () => {} }
  const context = { ...opened, clock }
  const world = new SourceWorld(draws, testNowMs)
  const times: number[] = []
  const read = async (at: number, records: readonly Members[]) => {
    page = toText(draws, records)
    const feed = context.settings.markets.feeds[at] as (typeof context.settings.markets.feeds)[number]
    const options = { holder: 'test', takeOver: true, full: true, signal: AbortSignal.timeout(60_000) }
    await readFeed(context, feed, options)
  }
  for (let step = 0; step < stepCount; step++) {
    opened.clock.advance(draws.whole(1, 3_600_000))
    if (draws.happens(0.1)) opened.clock.wrongByMs = -draws.whole(0, 7_200_000)
    else if (draws.happens(0.5)) opened.clock.wrongByMs = 0
    world.change(context.clock.now())
    world.earlier.push(JSON.stringify(world.markets.map((market) => world.marketRecord(market))))
    const listed = world.markets.filter(() => draws.happens(0.85))
    if (draws.happens(0.5))
      await read(
        0,
        listed.map((market) => world.marketRecord(market)),
      )
    else
      await read(
        1,
        world.events.filter(() => draws.happens(0.9)).map((event) => world.eventRecord(event)),
      )
    if (draws.happens(0.25)) await importText(context, draws.pick(world.earlier))
    // The same page again changes nothing, except that it undoes what the import overwrote.
    if (draws.happens(0.25))
      await read(
        0,
        listed.map((market) => world.marketRecord(market)),
      )
    if ((number + step) % 3 === 0) await mergeTicks(context.ingest, undefined, 2)
    if (step % 6 === 5) await mergePacks(context.ingest, Number.MAX_SAFE_INTEGER, undefined, 2)
    times.push(context.clock.now())
  }
  server.close()
  return await respondAbout(opened, `history ${number}`, times)
}

const timesOf = ({ clock }: TestContext) => ({ now: () => clock.now(), monotonicMs: () => clock.monotonicMs() })

async function importText(context: Pick<TestContext, 'ingest'> & { clock: { now(): number } }, text: string) {
  async function* items() {
    for (const [at, record] of (JSON.parse(text) as Members[]).entries())
      yield { line: at + 1, text: JSON.stringify(record) }
  }
  const options = { kind: 'market', renames: new Renames({}), source: 'import', file: 'f', onReject: () => {} } as const
  await importMarkets(context as never, items(), options)
}

async function respondAbout(context: TestContext, stage: string, times: readonly number[]): Promise<GoldenResponse[]> {
  const app = createApp(context, [...endpoints, ...extensions], everyone, { request: () => {} })
  const httpServer = await startHttpServer(app, [])
  const lines: GoldenResponse[] = []
  const ask = async (path: string): Promise<Members> => {
    const { statusCode: status, rawPayload, headers: all } = await inject(httpServer, path)
    const body = rawPayload.toString()
    const kept = Object.entries(all).filter(([name]) => /^(etag|last-modified|content-location|x-tetrad-)/.test(name))
    const headers = Object.fromEntries(kept.filter(([name]) => name !== 'x-tetrad-fault').sort()) as Record<
      string,
      string
    >
    if (status >= 500) throw new Error(`${path}: ${body}`)
    lines.push({ stage, request: path, status, headers, body })
    return JSON.parse(body)
  }
  const slugs = Array.from({ length: marketCount }, (_, at) => [
    `market-${at}`,
    `market-${at}-0`,
    `market-${at}-1`,
  ]).flat()
  for (const slug of [...slugs, 'past-0', 'past-1', 'past-2', 'past-3', 'market-9']) {
    await ask(`/markets/slug/${slug}`)
    for (const atMs of times.filter((_, at) => at % 4 === slug.length % 4))
      await ask(`/markets/slug/${slug}?asOf=${encodeURIComponent(isoOf(atMs))}`)
  }
  for (let at = 0; at < marketCount; at++) {
    await ask(`/markets/${500 + at}?include_tag=false`)
    await ask(`/markets/slug/market-${at}/changes?related=true&limit=100`)
    await ask(`/prices-history?market=1${at}&interval=max&fidelity=1`)
  }
  for (let after: unknown = '0', more = true; more; ) {
    const page = await ask(`/markets/changes?limit=100&after=${after}`)
    ;[after, more] = [page.next, page.more === true]
  }
  for (const order of ['id', 'volumeNum', 'updatedAt', 'liquidity'])
    await ask(`/markets?order=${order}&ascending=false`)
  for (const order of ['id', 'volume']) await ask(`/events?order=${order}`)
  await ask('/markets/search?q=pier')
  await httpServer.close()
  return lines
}

if (import.meta.main) {
  const lines: GoldenResponse[] = []
  for (let number = 0; number < historyCount; number++) lines.push(...(await respondToHistory(number)))
  if (process.argv.includes('--write')) writeGolden('markets', lines)
  console.log(`${lines.length} responses`)
}
