// Exact, non-negative decimals and fractions on bigint, for prices and amounts. Rounding is always explicit.
//
// 1. A Decimal is digits ÷ 10^scale. Equal values may differ in scale (1.5 and 1.50).
// 2. The denominator of a Fraction is positive. Means and inverses of fractions are exact; round once, at the end.

export interface Decimal {
  readonly digits: bigint
  /** Number of digits after the decimal point. */
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

/** Accepts plain and exponent notation without a sign; undefined for anything else. */
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

/** For texts that a schema has validated. */
export function decimal(text: string): Decimal {
  const parsed = parseDecimal(text)
  if (!parsed) throw new Error(`not a decimal: ${text.slice(0, 40)}`)
  return parsed
}

/** Keeps trailing zeros: 1.50 stays 1.50. */
export function formatDecimal({ digits, scale }: Decimal): string {
  if (scale === 0) return digits.toString()
  const text = digits.toString().padStart(scale + 1, '0')
  return `${text.slice(0, -scale)}.${text.slice(-scale)}`
}

export const tenTo = (power: number): bigint => 10n ** BigInt(power)

/** Integer division with explicit rounding. */
export function divide(numerator: bigint, denominator: bigint, rounding: Rounding): bigint {
  if (numerator < 0n || denominator <= 0n) throw new Error('divide needs numerator ≥ 0 and denominator > 0')
  return rounding === 'down' ? numerator / denominator : (numerator + denominator - 1n) / denominator
}

/** The decimal in units of 10^-places: 1.5 at 6 places is 1 500 000. */
export const unitsOf = ({ digits, scale }: Decimal, places: number, rounding: Rounding): bigint =>
  divide(digits * tenTo(places), tenTo(scale), rounding)

/** Whether the decimal has at most this number of places, not counting trailing zeros. */
export const fits = (value: Decimal, places: number): boolean =>
  unitsOf(value, places, 'down') === unitsOf(value, places, 'up')

/** Negative, zero or positive, as for sorting. */
export const compare = (a: Decimal, b: Decimal): number => compareFractions(fractionOf(a), fractionOf(b))

export const fractionOf = ({ digits, scale }: Decimal): Fraction => ({ numerator: digits, denominator: tenTo(scale) })

export const inverse = ({ numerator, denominator }: Fraction): Fraction => {
  if (numerator === 0n) throw new Error('zero has no inverse')
  return { numerator: denominator, denominator: numerator }
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

/** Rounds down to this number of significant digits. */
export function toSignificant({ numerator, denominator }: Fraction, digitsMax: number): Decimal {
  if (numerator === 0n) return { digits: 0n, scale: 0 }
  // The lengths give the magnitude to within one digit, so there is at most one digit too many.
  const scale = digitsMax + denominator.toString().length - numerator.toString().length
  const digits = scale >= 0 ? (numerator * tenTo(scale)) / denominator : numerator / (denominator * tenTo(-scale))
  const excess = Math.max(0, digits.toString().length - digitsMax)
  return trimZeros({ digits: digits / tenTo(excess), scale: scale - excess })
}

/** Removes trailing zeros and negative scales. */
export function trimZeros({ digits, scale }: Decimal): Decimal {
  if (scale < 0) return { digits: digits * tenTo(-scale), scale: 0 }
  let shorter = digits
  let places = scale
  while (places > 0 && shorter % 10n === 0n) {
    shorter /= 10n
    places -= 1
  }
  return { digits: shorter, scale: places }
}

/** For wire fields that are JSON numbers. Exact up to 15 significant digits. */
export const toNumber = (value: Decimal): number => Number(formatDecimal(value))
