// Two market feeds for bench/markets.ts, in a process of its own: markets with an even number at /0, the others at /1. Both
// contain the events of their markets. A request for the first page starts the next round, in which every record has
// changed. What changes is set by a POST request: `prices` (prices and `updatedAt`), `all` (also volumes and liquidity, of
// the event too, and prices of seventy percent), or `slow` (the same, and a text of the market and of the event). Prints its
// URL and the mean size of a record. Argument: how many records.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { manyMarkets } from './many-markets.ts'

const pageSize = 500
const feeds = 2
const startMs = Date.now() - 86_400_000
type Members = Record<string, unknown>

/** A number that looks random and depends only on its arguments. */
function drawWhole(until: number, ...seeds: readonly number[]): number {
  let hash = 2_166_136_261
  for (const seed of seeds) hash = Math.imul(hash ^ seed, 16_777_619) ^ (hash >>> 13)
  return (Math.imul(hash ^ (hash >>> 16), 73_244_475) >>> 0) % until
}

function marketValues(at: number, round: number, mode: string): Members {
  const priceRound = mode === 'prices' || drawWhole(10, at, round, 1) < 7 ? round : round - 1
  const bid = (1 + drawWhole(90, at) + drawWhole(9, at, priceRound, 2)) / 100
  const moved = mode === 'prices' ? 0 : round
  const volume = drawWhole(1e7, at, 3) + moved * 3.123457
  const liquidity = drawWhole(1e9, at, moved, 4) / 10_000
  return {
    updatedAt: timeOf(at, round),
    ...{ bestBid: bid, bestAsk: Number((bid + 0.01).toFixed(2)), lastTradePrice: bid, spread: 0.01 },
    outcomePrices: JSON.stringify([String(bid), String(Number((1 - bid).toFixed(2)))]),
    oneHourPriceChange: (drawWhole(9, at, priceRound, 2) - 4) / 100,
    ...{ volume: String(volume), volumeNum: volume, volumeClob: volume, volume1yr: volume, volume1yrClob: volume },
    ...{ volume1wk: volume / 8, volume1wkClob: volume / 8, volume1mo: volume / 2, volume1moClob: volume / 2 },
    ...{ volume24hr: volume / 64, volume24hrClob: volume / 64 },
    ...{ liquidity: String(liquidity), liquidityNum: liquidity, liquidityClob: liquidity },
    description: describe(mode, round),
  }
}

const describe = (mode: string, round: number) =>
  `Resolves by the source. ${mode === 'slow' ? round : 'First.'}`.repeat(8)

function eventValues(at: number, round: number, mode: string): Members {
  const moved = mode === 'prices' ? 0 : round
  const volume = drawWhole(1e7, at, 5) + moved * 17.25
  return {
    updatedAt: timeOf(at, moved),
    ...{ volume, volume24hr: volume / 64, liquidity: drawWhole(1e9, at, moved, 6) / 1000 },
    description: describe(mode, round),
  }
}

const timeOf = (at: number, round: number) =>
  new Date(startMs + round * 60_000 + drawWhole(50_000, at, round, 7)).toISOString()

const perEvent = 10
/** The beginning of each record, with all that never changes. */
const records = Array.from(
  manyMarkets({ seed: 'bench', count: Number(process.argv[2] ?? 30_000), perEvent }),
  ({ events, ...market }, at) => {
    const [event] = events as Members[]
    const begin = (record: Members, values: Members) =>
      JSON.stringify(Object.fromEntries(Object.entries(record).filter(([name]) => !Object.hasOwn(values, name))))
    const [inMarket, inEvent] = [marketValues(at, 0, 'slow'), eventValues(at, 0, 'slow')]
    return `${begin(market, inMarket).slice(0, -1)},"events":[${begin(event as Members, inEvent).slice(0, -1)}`
  },
)

const membersOf = (values: Members) => JSON.stringify(values).slice(1, -1)

/** The values come last in their record, in place of those that the beginning leaves out. */
function render(at: number, round: number, mode: string): string {
  const event = membersOf(eventValues(Math.floor(at / perEvent), round, mode))
  return `${records[at]},${event}}],${membersOf(marketValues(at, round, mode))}}`
}

let mode = 'all'
const rounds = new Array<number>(feeds).fill(0)
const server = createServer((request, response) => {
  const url = new URL(request.url ?? '/', 'http://feed')
  if (request.method === 'POST') {
    mode = url.pathname.slice(1)
    response.end()
    return
  }
  const feed = Number(url.pathname.slice(1))
  const page = Number(url.searchParams.get('page') ?? 1)
  if (page === 1) rounds[feed] = Math.max((rounds[feed] ?? 0) + 1, Math.max(...rounds))
  const first = (page - 1) * pageSize
  const ats = Array.from({ length: pageSize }, (_, at) => (first + at) * feeds + feed).filter((at) => records[at])
  response.writeHead(200, { 'content-type': 'application/json' })
  response.end(`[${ats.map((at) => render(at, rounds[feed] ?? 0, mode)).join()}]`)
})
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  const sample = Array.from(
    { length: 100 },
    (_, at) => render(Math.floor((at * records.length) / 100), 1, 'all').length,
  )
  const recordBytes = sample.reduce((sum, size) => sum + size, 0) / sample.length
  console.log(JSON.stringify({ url: `http://127.0.0.1:${port}`, recordBytes }))
})
