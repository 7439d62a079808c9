// The listing of the demo feed: the demo markets with moving prices. Prices are a function of seed and time, so a feed that
// restarts continues with the same prices.
import type { MarketRecord } from '#markets/records/normalize.ts'
import { createSeededRandom } from '../seeded-random.ts'
import type { FeedEntry, FeedListing } from './live-markets.ts'
import { type FlatRecords, flatName, stated } from './nested-records.ts'

const tickMs = 20_000
/** Each market trades every few ticks, at different times. */
const ticksBetween = [3, 4, 5, 7] as const
const swing = 0.08

export class TradingListing implements FeedListing {
  readonly #records: FlatRecords
  readonly #seed: string
  readonly #nowMs: () => number

  constructor(records: readonly MarketRecord[], seed: string, nowMs: () => number) {
    const flat = records.map(({ kind, id, fields, links = {} }) => ({
      kind,
      id,
      fields: { ...fields },
      links: Object.fromEntries(Object.entries(links).map(([name, ids]) => [name, [...(ids ?? [])]])),
    }))
    this.#records = new Map(flat.map((record) => [flatName(record.kind, record.id), record]))
    this.#seed = seed
    this.#nowMs = nowMs
  }

  entries(): FeedEntry[] {
    const markets = [...this.#records.values()].filter(({ kind }) => kind === 'market')
    return markets.map(({ id }) => {
      const value = { ...stated(this.#records, 'market', id) }
      if (value.active === true && value.closed === false) Object.assign(value, this.#traded(id, value))
      return { id, value, updatedMs: Date.parse(String(value.updatedAt)) }
    })
  }

  #traded(id: string, value: Record<string, unknown>): object {
    const draws = createSeededRandom(`${this.#seed}/${id}`).fork('trading')
    const between = draws.pick(ticksBetween)
    const phase = draws.next() * 2 * Math.PI
    const tick = Math.floor(this.#nowMs() / tickMs)
    const lastTick = tick - ((tick + draws.whole(0, between)) % between)
    const updatedAt = new Date(lastTick * tickMs).toISOString()
    const drift = swing * Math.sin(lastTick / 40 + phase)
    const yes = Math.min(98, Math.max(2, Math.round(100 * (Number(value.lastTradePrice) + drift))))
    return {
      outcomePrices: JSON.stringify([String(yes / 100), String((100 - yes) / 100)]),
      lastTradePrice: yes / 100,
      bestBid: (yes - 1) / 100,
      bestAsk: (yes + 1) / 100,
      spread: 0.02,
      competitive: (100 - Math.abs(50 - yes)) / 100,
      updatedAt,
    }
  }
}
