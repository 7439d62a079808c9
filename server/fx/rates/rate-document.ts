// Parses a source's JSON document into rates, using the paths of its settings, and validates rates of all kinds of sources.
// An invalid rate is rejected with a reason and never stored (behaviour/fx.md#rate-documents). Pure.
import { formatAgeOf } from '#core/age.ts'
import { compare, type Decimal, decimal, formatDecimal, parseDecimal, tenTo } from '#core/decimal.ts'
import { parseDay, parseTimestamp } from '#core/parse-timestamp.ts'
import { valueAtPath } from '#core/value-at-path.ts'
import type { FxSource } from '#runtime/settings/fx.ts'
import { aheadMaxMs, type Rate } from '../pricing/mid.ts'

const entriesMax = 1000
const digitsMax = 40
/** Real exchange rates are within these limits; a figure outside them is an error, such as a lost decimal point. */
const rateMin = decimal('0.000000000001')
const rateMax = decimal('1000000000000')

const secondsText = /^\d{9,10}(\.\d+)?$/
const millisecondsText = /^\d{12,13}$/

export interface RejectedRate {
  /** The pair, as far as it could be read. */
  readonly about: string
  readonly reason: string
}

export interface ParsedRates {
  readonly rates: readonly Rate[]
  readonly rejected: readonly RejectedRate[]
}

/** Parses JSON with every number as the text that the source wrote, so that no digit is lost. */
export function parseKeepingDigits(text: string): unknown {
  const asWritten = (_: string, value: unknown, context?: { source?: string }) =>
    typeof value === 'number' ? (context?.source ?? String(value)) : value
  return JSON.parse(text, asWritten as (name: string, value: unknown) => unknown)
}

/** Throws if there is no list at the configured path. */
export function parseRateDocument(document: unknown, source: FxSource, nowMs: number): ParsedRates {
  const list = valueAtPath(document, withoutRoot(source.document.list))
  const entries: readonly unknown[] = Array.isArray(list) ? list : [list]
  if (typeof list !== 'object' || list === null) {
    throw new Error(`there is no list at "${source.document.list}" in the document`)
  }
  if (entries.length > entriesMax) throw new Error(`the document has more than ${entriesMax} entries`)
  return toParsedRates(entries.map((entry) => parseRateEntry(document, entry, source, nowMs)))
}

/** The rates are sorted, oldest first. */
export const toParsedRates = (results: readonly (Rate | RejectedRate)[]): ParsedRates => ({
  rates: results.filter((result) => 'atMs' in result).toSorted((a, b) => a.atMs - b.atMs),
  rejected: results.filter((result) => 'reason' in result),
})

function parseRateEntry(document: unknown, entry: unknown, source: FxSource, nowMs: number): Rate | RejectedRate {
  const read = (path: string) => valueAtPath(path.startsWith('$.') ? document : entry, withoutRoot(path))
  const [base, quote] = source.pair?.split('/') ?? [read(source.document.base), read(source.document.quote)]
  const atMs = readRateTime(source, read(source.document.time), nowMs)
  const rate = applyExponent(source, read)
  if ('reason' in rate) return { about: `${valueText(base)}/${valueText(quote)}`, reason: rate.reason }
  return validateRate({ source: source.id, base, quote, rate: rate.value, atMs }, nowMs)
}

type ReadPath = (path: string) => unknown

const exponentMax = 36
/** Names of exponents in known formats. A rate beside one of them would be wrong by orders of magnitude. */
const exponentNames = ['expo', 'exponent']

/** The rate with its exponent. */
function applyExponent(
  { document }: FxSource,
  read: ReadPath,
): { readonly value: unknown } | { readonly reason: string } {
  const value = read(document.rate)
  if (document.exponent === '') {
    const parent = parentPath(document.rate)
    const ignored = exponentNames.find((name) => read(`${parent}${name}`) !== undefined)
    return ignored === undefined
      ? { value }
      : { reason: `the entry has a member ${ignored} beside the rate; set document.exponent` }
  }
  const exponent = read(document.exponent)
  const isValid =
    typeof exponent === 'string' && /^-?\d{1,2}$/.test(exponent) && Math.abs(Number(exponent)) <= exponentMax
  if (!isValid) return { reason: `the exponent ${valueText(exponent)} is not a whole number from -36 to 36` }
  const parsed = typeof value === 'string' ? parseDecimal(value) : undefined
  // What is not a decimal is rejected later, like a rate without an exponent.
  return { value: parsed ? formatDecimal(shiftPoint(parsed, Number(exponent))) : value }
}

function shiftPoint({ digits, scale }: Decimal, exponent: number): Decimal {
  const places = scale - exponent
  return places >= 0 ? { digits, scale: places } : { digits: digits * tenTo(-places), scale: 0 }
}

/** `price.price` → `price.` */
const parentPath = (path: string): string => path.slice(0, path.lastIndexOf('.') + 1)

function readRateTime({ document }: FxSource, value: unknown, nowMs: number): number | undefined {
  if (document.times === 'received') return nowMs
  if (document.times === 'date') return typeof value === 'string' ? parseDay(value) : undefined
  return parseRateTime(value)
}

/** A rate of any kind of source, before validation. */
export interface ReportedRate {
  readonly source: string
  readonly base: unknown
  readonly quote: unknown
  /** Decimal text if valid. */
  readonly rate: unknown
  readonly atMs: number | undefined
}

/** The rate, or why it is rejected. Every rate passes this check before it is stored. */
export function validateRate({ source, base, quote, rate, atMs }: ReportedRate, nowMs: number): Rate | RejectedRate {
  const about = `${valueText(base)}/${valueText(quote)}`
  if (!isCurrency(base) || !isCurrency(quote) || base === quote) {
    return { about, reason: 'the pair is not two different currencies of three capital letters' }
  }
  const value = parseRateValue(rate)
  if (typeof value === 'object') return { about, reason: value.reason }
  if (atMs === undefined || !Number.isFinite(atMs)) {
    return { about, reason: 'the time is missing, or is not an ISO 8601 time with a zone or a Unix time' }
  }
  if (atMs > nowMs + aheadMaxMs) return { about, reason: `the time is ${formatAgeOf(nowMs - atMs)}` }
  return { source, base, quote, rate: value, atMs }
}

function parseRateValue(value: unknown): string | { readonly reason: string } {
  if (value === undefined) return { reason: 'the rate is missing; check document.rate' }
  if (typeof value !== 'string')
    return { reason: `the rate is ${typeText(value)}, not a decimal above zero; check document.rate` }
  const parsed = parseDecimal(value)
  if (!parsed) return { reason: `the rate ${valueText(value)} is not a decimal above zero` }
  if (parsed.digits === 0n) return { reason: 'the rate is zero' }
  const text = formatDecimal(parsed)
  if (compare(parsed, rateMin) < 0 || compare(parsed, rateMax) > 0 || text.length > digitsMax) {
    return { reason: `the rate ${valueText(value)} is outside the plausible range` }
  }
  return text
}

/** Accepts ISO 8601 with a zone, Unix seconds and Unix milliseconds. */
function parseRateTime(value: unknown): number | undefined {
  if (typeof value !== 'string') return undefined
  if (secondsText.test(value)) return Math.floor(Number(value) * 1000)
  if (millisecondsText.test(value)) return Number(value)
  return parseTimestamp(value, { zone: 'needed' })
}

const isCurrency = (value: unknown): value is string => typeof value === 'string' && /^[A-Z]{3}$/.test(value)

const valueText = (value: unknown): string => (typeof value === 'string' ? value.slice(0, 40) : String(typeof value))

function typeText(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}

const withoutRoot = (path: string): string => (path.startsWith('$.') ? path.slice(2) : path)
