// Reads the price of an entry: one price or bid and ask, with an exponent or decimals. Exact and pure.
import {
  compare,
  compareFractions,
  type Decimal,
  decimal,
  formatDecimal,
  fractionOf,
  parseDecimal,
  product,
  tenTo,
  trimZeros,
} from '#core/decimal.ts'
import type { FxSource } from '#runtime/settings/fx.ts'
import type { DocumentPath } from '#runtime/settings/fx-documents.ts'
import type { Sides } from '../pricing/mid.ts'
import { type ReadPath, siblingPath } from './document-entries.ts'

const digitsMax = 40
/** Real exchange rates are within these limits; a figure outside them is an error, such as a lost decimal point. */
const rateMin = decimal('0.000000000001')
const rateMax = decimal('1000000000000')

type Prices = { readonly rate: unknown; readonly sides?: Sides } | { readonly reason: string }

export function readPrices(document: FxSource['document'], read: ReadPath, apartMaxPpm: bigint): Prices {
  const hasSides = document.bid.length > 0
  const scale = readScale(document, read, hasSides ? document.bid : document.rate)
  if (typeof scale === 'object') return scale
  const readScaled = (path: DocumentPath) => shiftText(read(path), scale)
  if (!hasSides) return { rate: readScaled(document.rate) }
  const bid = parseRateValue(readScaled(document.bid), 'bid')
  if (typeof bid === 'object') return bid
  const ask = parseRateValue(readScaled(document.ask), 'ask')
  if (typeof ask === 'object') return ask
  if (compare(decimal(bid), decimal(ask)) > 0) return { reason: `the bid ${bid} is above the ask ${ask}` }
  // In a list that has lost its first member, an amount would be in place of the price.
  if (isFarAbove(decimal(ask), decimal(bid), apartMaxPpm))
    return { reason: `the ask ${ask} is too far above the bid ${bid} (fx.outlierBps)` }
  const rate = formatDecimal(halfOfSum(decimal(bid), decimal(ask)))
  return document.sides === 'each' ? { rate, sides: { bid, ask } } : { rate }
}

/** a > b × (1 + ppm / 10^6), exactly. */
function isFarAbove(a: Decimal, b: Decimal, ppm: bigint): boolean {
  const limit = product(fractionOf(b), { numerator: 1_000_000n + ppm, denominator: 1_000_000n })
  return compareFractions(fractionOf(a), limit) > 0
}

/** Exact: at most one digit more. */
function halfOfSum(a: Decimal, b: Decimal): Decimal {
  const scale = Math.max(a.scale, b.scale)
  const sum = a.digits * tenTo(scale - a.scale) + b.digits * tenTo(scale - b.scale)
  return trimZeros({ digits: sum * 5n, scale: scale + 1 })
}

const exponentMax = 36
/** Names of exponents in known formats. A rate beside one of them would be wrong by orders of magnitude. */
const exponentNames = ['expo', 'exponent']
const decimalsName = 'decimals'

/** How many places the decimal point moves to the right. */
function readScale(
  { exponent, decimals }: FxSource['document'],
  read: ReadPath,
  pricePath: DocumentPath,
): number | { readonly reason: string } {
  if (exponent.length > 0) {
    const value = read(exponent)
    const isValid = isWhole(value) && Math.abs(Number(value)) <= exponentMax
    return isValid
      ? Number(value)
      : { reason: `the exponent ${valueText(value)} is not a whole number from -36 to 36; check document.exponent` }
  }
  if (decimals.length > 0) {
    const value = read(decimals)
    const isValid = isWhole(value) && Number(value) >= 0 && Number(value) <= exponentMax
    return isValid
      ? -Number(value)
      : { reason: `the number of decimals ${valueText(value)} is not from 0 to 36; check document.decimals` }
  }
  const beside = (name: string) => pricePath.length > 0 && read(siblingPath(pricePath, name)) !== undefined
  const ignored = exponentNames.find(beside)
  if (ignored !== undefined)
    return { reason: `the entry has a member ${ignored} beside the rate; set document.exponent` }
  // A price with a decimal point is not in units of its decimals.
  if (isWhole(read(pricePath)) && beside(decimalsName))
    return { reason: `the entry has a member ${decimalsName} beside the rate; set document.decimals` }
  return 0
}

const isWhole = (value: unknown): value is string => typeof value === 'string' && /^-?\d{1,40}$/.test(value)

/** What is not a decimal is rejected later. */
function shiftText(value: unknown, places: number): unknown {
  const parsed = places !== 0 && typeof value === 'string' ? parseDecimal(value) : undefined
  return parsed ? formatDecimal(shiftPoint(parsed, places)) : value
}

function shiftPoint({ digits, scale }: Decimal, exponent: number): Decimal {
  const places = scale - exponent
  return places >= 0 ? { digits, scale: places } : { digits: digits * tenTo(-places), scale: 0 }
}

/** The decimal text, or why it is rejected. */
export function parseRateValue(
  value: unknown,
  name: 'rate' | 'bid' | 'ask' = 'rate',
): string | { readonly reason: string } {
  if (value === undefined) return { reason: `the ${name} is missing; check document.${name}` }
  if (typeof value !== 'string')
    return { reason: `the ${name} is ${typeText(value)}, not a decimal above zero; check document.${name}` }
  const parsed = parseDecimal(value)
  if (!parsed) return { reason: `the ${name} ${valueText(value)} is not a decimal above zero` }
  if (parsed.digits === 0n) return { reason: `the ${name} is zero` }
  const text = formatDecimal(parsed)
  if (compare(parsed, rateMin) < 0 || compare(parsed, rateMax) > 0 || text.length > digitsMax) {
    return { reason: `the ${name} ${valueText(value)} is outside the plausible range` }
  }
  return text
}

export const valueText = (value: unknown): string =>
  typeof value === 'string' ? value.slice(0, 40) : String(typeof value)

function typeText(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}
