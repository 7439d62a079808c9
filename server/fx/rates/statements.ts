// Groups the rates of one document into statements and finds those that contradict themselves
// (behaviour/fx.md#contradictions). Pure.
import {
  compareFractions,
  decimal,
  type Fraction,
  formatDecimal,
  fractionOf,
  product,
  trimZeros,
} from '#core/decimal.ts'
import { type Rate, sidesOf } from '../pricing/mid.ts'
import type { RejectedRate } from './rate-document.ts'

/** What a document states about two currencies at one time. */
export interface Statement {
  /** Both currencies in alphabetical order, so it is the same for both orientations: `EUR/USD`. */
  readonly pair: string
  readonly atMs: number
  /** One rate for each orientation that the document has; more if it contradicts itself. */
  readonly rates: readonly Rate[]
  /** The prices. Equal for statements with equal prices. */
  readonly text: string
  /** Why the prices cannot all be true. */
  readonly conflict?: RejectedRate
}

/**
 * Oldest first. `tolerancePpm`: how far the product of the two orientations may be from 1. Sources round both and may
 * quote each with its own spread.
 */
export function groupStatements(rates: readonly Rate[], tolerancePpm: bigint): readonly Statement[] {
  const groups = Map.groupBy(rates, ({ base, quote, atMs }) => `${pairOf(base, quote)} ${atMs}`)
  return [...groups.values()]
    .map((group) => toStatement(uniquePrices(group), tolerancePpm))
    .toSorted((a, b) => a.atMs - b.atMs)
}

export const pairOf = (base: string, quote: string): string => (base < quote ? `${base}/${quote}` : `${quote}/${base}`)

/** Rates of one pair and time; a price that is listed several times counts once. */
function uniquePrices(rates: readonly Rate[]): readonly [Rate, ...Rate[]] {
  const byText = new Map(rates.map((rate) => [priceText(rate), rate]))
  return [...byText].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, rate]) => rate) as [Rate, ...Rate[]]
}

/** Equal for equal prices of one pair. */
export function priceText(rate: Rate): string {
  const sides = sidesOf(rate)
  const text = (price: string) => formatDecimal(trimZeros(decimal(price)))
  return `${rate.base}/${rate.quote} ${sides ? `${text(sides.bid)} to ${text(sides.ask)}` : text(rate.rate)}`
}

function toStatement(rates: readonly [Rate, ...Rate[]], tolerancePpm: bigint): Statement {
  const [{ base, quote, atMs }] = rates
  const statement = { pair: pairOf(base, quote), atMs, rates, text: rates.map(priceText).join(' and ') }
  const reason = findConflict(rates, tolerancePpm)
  return reason === undefined ? statement : { ...statement, conflict: { about: `${base}/${quote}`, reason } }
}

function findConflict(rates: readonly [Rate, ...Rate[]], tolerancePpm: bigint): string | undefined {
  const time = new Date(rates[0].atMs).toISOString()
  for (const sameBase of Map.groupBy(rates, ({ base }) => base).values()) {
    const [first, second] = sameBase
    if (first && second) return `two prices for ${time}: ${shownPrice(first)} and ${shownPrice(second)}`
  }
  const [first, inverse] = rates
  if (!inverse || isNearOne(product(fractionOfRate(first), fractionOfRate(inverse)), tolerancePpm)) return undefined
  return `the price for ${time} is ${first.rate}, and that of ${inverse.base}/${inverse.quote} is ${inverse.rate}`
}

function shownPrice(rate: Rate): string {
  const sides = sidesOf(rate)
  return sides ? `${rate.rate} (${sides.bid} to ${sides.ask})` : rate.rate
}

const fractionOfRate = ({ rate }: Rate): Fraction => fractionOf(decimal(rate))

/** The limit is a ratio, so that twice and half are equally far from 1. */
function isNearOne(value: Fraction, tolerancePpm: bigint): boolean {
  const million = 1_000_000n
  const high = { numerator: million + tolerancePpm, denominator: million }
  const low = { numerator: million, denominator: million + tolerancePpm }
  return compareFractions(value, low) >= 0 && compareFractions(value, high) <= 0
}
