// Exact decimals on bigint: prices and amounts never pass through floating point, and every place that must round
// says which way. Values are what money needs: zero or more, never negative.
//
// 1. A Decimal is digits ÷ 10^scale; equal values may differ in scale (1.5 and 1.50).
// 2. A Fraction is over ÷ under with under > 0. Means and inverses are exact in it; rounding happens once, at the end.

export interface Decimal {
  readonly digits: bigint
  /** How many of the digits stand behind the point. */
  readonly scale: number
}

export interface Fraction {
  readonly numerator: bigint
  readonly denominator: bigint
}

export type Rounding = 'down' | 'up'

const decimalPattern = /^(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,3}))?$/
const textCharsMax = 128
const exponentMax = 100

/** A plain or exponent notation of zero or more; undefined for anything else, signs included. */
export function parseDecimal(text: string): Decimal | undefined {
  const found = text.length <= textCharsMax ? decimalPattern.exec(text) : null
  if (!found) return undefined
  const [, whole = '', behind = '', exponent = '0'] = found
  const shift = Number(exponent)
  if (Math.abs(shift) > exponentMax) return undefined
  const scale = behind.length - shift
  const digits = BigInt(whole + behind)
  return scale >= 0 ? { digits, scale } : { digits: digits * tenTo(-scale), scale: 0 }
}

/** For texts that a schema has already checked. */
export function decimal(text: string): Decimal {
  const parsed = parseDecimal(text)
  if (!parsed) throw new Error(`not a decimal: ${text.slice(0, 40)}`)
  return parsed
}

/** All digits of the scale are written: 1.50 stays 1.50. */
export function formatDecimal({ digits, scale }: Decimal): string {
  if (scale === 0) return digits.toString()
  const text = digits.toString().padStart(scale + 1, '0')
  return `${text.slice(0, -scale)}.${text.slice(-scale)}`
}

export const tenTo = (power: number): bigint => 10n ** BigInt(power)

/** The only division: over ÷ under to a whole number. */
export function divide(numerator: bigint, denominator: bigint, rounding: Rounding): bigint {
  if (numerator < 0n || denominator <= 0n) throw new Error('divide takes over ≥ 0 and under > 0')
  return rounding === 'down' ? numerator / denominator : (numerator + denominator - 1n) / denominator
}

/** How many units of 10^-places a decimal is: 1.5 at 6 places is 1 500 000. */
export const unitsOf = ({ digits, scale }: Decimal, places: number, rounding: Rounding): bigint =>
  divide(digits * tenTo(places), tenTo(scale), rounding)

/** Whether the decimal has no digit but zero beyond these places. */
export const fits = (value: Decimal, places: number): boolean =>
  unitsOf(value, places, 'down') === unitsOf(value, places, 'up')

export const multiply = (a: Decimal, b: Decimal): Decimal => ({
  digits: a.digits * b.digits,
  scale: a.scale + b.scale,
})

/** Negative, zero or positive, as for sorting. */
export const compare = (a: Decimal, b: Decimal): number => compareFractions(fractionOf(a), fractionOf(b))

export const fractionOf = ({ digits, scale }: Decimal): Fraction => ({ numerator: digits, denominator: tenTo(scale) })

export const inverse = ({ numerator: over, denominator: under }: Fraction): Fraction => {
  if (over === 0n) throw new Error('zero has no inverse')
  return { numerator: under, denominator: over }
}

export const product = (a: Fraction, b: Fraction): Fraction => ({
  numerator: a.numerator * b.numerator,
  denominator: a.denominator * b.denominator,
})

export const mean = (a: Fraction, b: Fraction): Fraction => ({
  numerator: a.numerator * b.denominator + b.numerator * a.denominator,
  denominator: 2n * a.denominator * b.denominator,
})

export function compareFractions(a: Fraction, b: Fraction): number {
  const left = a.numerator * b.denominator
  const right = b.numerator * a.denominator
  return left < right ? -1 : left > right ? 1 : 0
}

/** The largest decimal of so many significant digits that is not above the fraction. */
export function toSignificant({ numerator: over, denominator: under }: Fraction, figures: number): Decimal {
  if (over === 0n) return { digits: 0n, scale: 0 }
  // The lengths give the magnitude to within one digit, so one figure too many at most; that one is cut off.
  const scale = figures + under.toString().length - over.toString().length
  const digits = scale >= 0 ? (over * tenTo(scale)) / under : over / (under * tenTo(-scale))
  const excess = Math.max(0, digits.toString().length - figures)
  return trimmed({ digits: digits / tenTo(excess), scale: scale - excess })
}

/** Without zeros at the end of the fraction, and with no negative scale. */
function trimmed({ digits, scale }: Decimal): Decimal {
  if (scale < 0) return { digits: digits * tenTo(-scale), scale: 0 }
  let shorter = digits
  let places = scale
  while (places > 0 && shorter % 10n === 0n) {
    shorter /= 10n
    places -= 1
  }
  return { digits: shorter, scale: places }
}

/** The one way out into floating point, for a wire field that is a JSON number. Exact up to 15 significant digits. */
export const toNumber = (value: Decimal): number => Number(formatDecimal(value))
