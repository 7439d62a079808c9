// Prices and volumes of the markets of one event, as functions of seed and time (behaviour/operations.md#demo-markets). A feed
// that restarts continues with the same ones. All markets of an event trade at the same times, so that related prices
// agree whenever they are read.
import { createSeededRandom } from '../seeded-random.ts'
import type { DemoDates } from './dates.ts'
import type { EventPlan } from './plan.ts'

const tickMs = 20_000
/** Each event trades every few ticks, at different times. Each number divides the ticks of an hour. */
const ticksBetween = [3, 4, 5, 6] as const
const hourMs = 3_600_000
const dayMs = 24 * hourMs
/** Waves of the price, in units of log odds. */
const waves = [
  { height: 0.35, hours: 97 },
  { height: 0.2, hours: 23 },
  { height: 0.12, hours: 3.1 },
] as const
const noise = 0.06
/** How much more is traded while the price moves. */
const volumeOfMoves = 6
/** The rest is traded in the pool. */
const bookShare = 0.97
/** A record has the current price and five past ones. */
const pricesMax = 12

/** What one market of the event draws. */
interface Habits {
  readonly phases: readonly number[]
  readonly centsPerHour: number
  /** The liquidity is the volume of so many hours. */
  readonly liquidHours: number
}

export class EventTrading {
  /** When the markets are created and when trading opens. */
  readonly createdMs: number
  readonly opensMs: number
  readonly #plan: EventPlan
  readonly #seed: string
  readonly #between: number
  readonly #shift: number
  readonly #habits: readonly Habits[]
  /** The latest prices by the time of their trade: every market of the event needs them. */
  readonly #prices = new Map<number, number[]>()

  constructor(plan: EventPlan, dates: DemoDates, seed: string) {
    const draws = createSeededRandom(seed).fork('trading')
    this.#plan = plan
    this.#seed = seed
    this.#between = draws.pick(ticksBetween)
    this.#shift = draws.whole(0, this.#between)
    const drawPhases = () => waves.map(() => 2 * Math.PI * draws.next())
    const sharedPhases = drawPhases()
    this.#habits = plan.markets.map(({ relation }) => ({
      // Nested markets move together.
      phases: relation === 'nested' ? sharedPhases : drawPhases(),
      centsPerHour: draws.whole(2_000, 40_000),
      liquidHours: draws.whole(20, 80),
    }))
    const isPlanned = plan.state === 'planned'
    this.createdMs = dates.startMs - (isPlanned ? draws.whole(2, 9) : draws.whole(60, 220)) * dayMs
    this.opensMs = this.createdMs + (isPlanned ? 45 : 1) * dayMs
  }

  /** The time of the last trade. */
  lastTradeMs(nowMs: number): number {
    const tick = Math.floor(nowMs / tickMs)
    return (tick - ((tick + this.#shift) % this.#between)) * tickMs
  }

  /** The price of the first outcome of each market, in cents. */
  yesCents(nowMs: number): number[] {
    const { state, markets } = this.#plan
    if (state === 'planned') return markets.map(() => 50)
    if (state === 'over') return markets.map(({ cameTrue }) => (cameTrue ? 100 : 0))
    return this.#tradedCents(nowMs)
  }

  /** Fields of a market that depend on trading. */
  marketFields(at: number, nowMs: number): Record<string, unknown> {
    const yes = this.yesCents(nowMs)[at] as number
    const isPlanned = this.#plan.state === 'planned'
    const [bid, ask] = isPlanned ? [0, 100] : [Math.max(0, yes - 1), Math.min(100, yes + 1)]
    const changeOver = (days: number) => {
      const beforeMs = Math.max(nowMs - days * dayMs, this.opensMs)
      return isPlanned ? 0 : (yes - (this.yesCents(beforeMs)[at] as number)) / 100
    }
    return {
      outcomePrices: JSON.stringify([String(yes / 100), String((100 - yes) / 100)]),
      lastTradePrice: isPlanned ? 0 : yes / 100,
      bestBid: bid / 100,
      bestAsk: ask / 100,
      spread: (ask - bid) / 100,
      competitive: (100 - Math.abs(50 - yes)) / 100,
      oneHourPriceChange: changeOver(1 / 24),
      oneDayPriceChange: changeOver(1),
      oneWeekPriceChange: changeOver(7),
      oneMonthPriceChange: changeOver(30),
      oneYearPriceChange: changeOver(365),
      ...this.#volumeFields(at, nowMs),
    }
  }

  /** Fields of the event: sums over its markets. */
  eventFields(nowMs: number): Record<string, number> {
    const sum = (of: (at: number) => number) => this.#plan.markets.reduce((total, _, at) => total + of(at), 0) / 100
    const since = (days: number) => (at: number) => this.#volumeOver(at, nowMs, days)
    const liquidity = splitVenues(100 * sum((at) => this.#liquidityCents(at)))
    return {
      volume: sum((at) => this.#volumeCents(at, nowMs)),
      volume24hr: sum(since(1)),
      volume1wk: sum(since(7)),
      volume1mo: sum(since(30)),
      volume1yr: sum(since(365)),
      liquidity: (liquidity.clob + liquidity.amm) / 100,
      liquidityClob: liquidity.clob / 100,
      liquidityAmm: liquidity.amm / 100,
      openInterest: this.#isTrading() ? sum((at) => Math.round(0.3 * this.#volumeCents(at, nowMs))) : 0,
    }
  }

  #isTrading(): boolean {
    return this.#plan.state === 'open' || this.#plan.state === 'live'
  }

  #tradedCents(nowMs: number): number[] {
    const atMs = this.lastTradeMs(nowMs)
    const known = this.#prices.get(atMs)
    if (known) return known
    if (this.#prices.size >= pricesMax) this.#prices.clear()
    const prices = this.#computeCents(atMs)
    this.#prices.set(atMs, prices)
    return prices
  }

  #computeCents(atMs: number): number[] {
    const { markets } = this.#plan
    const weights = markets.map(({ odds, relation }, at) => {
      const { phases } = this.#habits[at] as Habits
      const jitter = createSeededRandom(`${this.#seed}/${relation === 'nested' ? 'nested' : at}/${atMs}`).next()
      return (odds / (1 - odds)) * Math.exp(waveAt(phases, atMs) + noise * (2 * jitter - 1))
    })
    const share = (weight: number) => weight / (1 + weight)
    const total = weights.reduce((sum, w, at) => sum + (markets[at]?.relation === 'exclusive' ? share(w) : 0), 0)
    return weights.map((weight, at) => {
      const price = markets[at]?.relation === 'exclusive' ? share(weight) / total : share(weight)
      return Math.min(98, Math.max(2, Math.round(100 * price)))
    })
  }

  /** Total volume. It grows with every trade, and faster while the price moves. */
  #volumeCents(at: number, nowMs: number): number {
    const { state, markets } = this.#plan
    const { phases, centsPerHour } = this.#habits[at] as Habits
    const closesMs = state === 'over' ? Date.parse(`${markets[at]?.ends}T00:00:00Z`) : Number.POSITIVE_INFINITY
    const untilMs = this.lastTradeMs(Math.min(nowMs, closesMs))
    if (untilMs <= this.opensMs) return 0
    const hours = (untilMs - this.opensMs) / hourMs
    const moves = distanceOf(phases, untilMs) - distanceOf(phases, this.opensMs)
    return Math.round(centsPerHour * (hours + volumeOfMoves * moves))
  }

  #volumeOver(at: number, nowMs: number, days: number): number {
    return this.#volumeCents(at, nowMs) - this.#volumeCents(at, nowMs - days * dayMs)
  }

  #liquidityCents(at: number): number {
    const { centsPerHour, liquidHours } = this.#habits[at] as Habits
    return this.#isTrading() ? centsPerHour * liquidHours : 0
  }

  /** Every figure is the sum of two venues, order book and pool. */
  #volumeFields(at: number, nowMs: number): Record<string, unknown> {
    const total = this.#volumeCents(at, nowMs)
    const liquidity = this.#liquidityCents(at)
    const figure = (name: string, cents: number) => {
      const { clob, amm } = splitVenues(cents)
      return { [name]: cents / 100, [`${name}Clob`]: clob / 100, [`${name}Amm`]: amm / 100 }
    }
    const { volume, ...venues } = figure('volume', total)
    const { liquidity: liquidityNum, ...liquidityVenues } = figure('liquidity', liquidity)
    return {
      volume: String(volume),
      volumeNum: volume,
      ...venues,
      ...figure('volume24hr', this.#volumeOver(at, nowMs, 1)),
      ...figure('volume1wk', this.#volumeOver(at, nowMs, 7)),
      ...figure('volume1mo', this.#volumeOver(at, nowMs, 30)),
      ...figure('volume1yr', this.#volumeOver(at, nowMs, 365)),
      liquidity: String(liquidityNum),
      liquidityNum,
      ...liquidityVenues,
    }
  }
}

function splitVenues(cents: number): { readonly clob: number; readonly amm: number } {
  const whole = Math.round(cents)
  const clob = Math.round(bookShare * whole)
  return { clob, amm: whole - clob }
}

const angle = (hours: number, phase: number, atMs: number): number => (2 * Math.PI * atMs) / (hours * hourMs) + phase

const waveAt = (phases: readonly number[], atMs: number): number =>
  waves.reduce((sum, { height, hours }, at) => sum + height * Math.sin(angle(hours, phases[at] as number, atMs)), 0)

/** The distance that the waves have travelled: it grows fast while the price moves, and slowly at a turning point. */
const distanceOf = (phases: readonly number[], atMs: number): number =>
  waves.reduce((sum, { height, hours }, at) => sum + height * sineDistance(angle(hours, phases[at] as number, atMs)), 0)

/** The integral of |cos| from 0 to x. */
function sineDistance(x: number): number {
  const halves = Math.floor(x / Math.PI + 0.5)
  return 2 * halves + (halves % 2 === 0 ? Math.sin(x) : -Math.sin(x))
}
