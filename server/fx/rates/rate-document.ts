// From a source's JSON document to rates, by the paths its settings give; and the gate that what any kind of source says
// passes. Whatever cannot be a price is refused with a reason, so that it is reported and never stored (behaviour/fx.md#rate-documents).
// Pure.

import { formatAgeOf } from '#core/age.ts'
import { compare, decimal, formatDecimal, parseDecimal } from '#core/decimal.ts'
import { parseTimestamp } from '#core/parse-timestamp.ts'
import { valueAtPath } from '#core/value-at-path.ts'
import type { FxSource } from '#runtime/settings/fx.ts'
import { aheadMaxMs, type Rate } from '../pricing/mid.ts'

const entriesMax = 1000
const digitsMax = 40
/** No exchange rate of two currencies is beyond these; a figure that is has lost its point or its meaning. */
const rateMin = decimal('0.000000000001')
const rateMax = decimal('1000000000000')

const secondsText = /^\d{9,10}(\.\d+)?$/
const millisecondsText = /^\d{12,13}$/

export interface Refusal {
  /** What it was about, as far as that could be read. */
  readonly about: string
  readonly reason: string
}

export interface ParsedRates {
  readonly rates: readonly Rate[]
  readonly refused: readonly Refusal[]
}

/** The parsed document with every number as its own text, digit by digit as the source wrote it. */
export function parseKeepingDigits(text: string): unknown {
  const asWritten = (_: string, value: unknown, context?: { source?: string }) =>
    typeof value === 'number' ? (context?.source ?? String(value)) : value
  return JSON.parse(text, asWritten as (name: string, value: unknown) => unknown)
}

/** Throws when there is no list where the settings say. */
export function parseRateDocument(document: unknown, source: FxSource, nowMs: number): ParsedRates {
  const found = valueAtPath(document, withoutRoot(source.document.list))
  const entries: readonly unknown[] = Array.isArray(found) ? found : [found]
  if (typeof found !== 'object' || found === null) {
    throw new Error(`there is no list at "${source.document.list}" in the document`)
  }
  if (entries.length > entriesMax) throw new Error(`the document has more than ${entriesMax} entries`)
  const rates: Rate[] = []
  const refused: Refusal[] = []
  for (const entry of entries) {
    const read = parseRateEntry(document, entry, source, nowMs)
    if ('reason' in read) refused.push(read)
    else rates.push(read)
  }
  return { rates: rates.toSorted((a, b) => a.atMs - b.atMs), refused }
}

function parseRateEntry(document: unknown, entry: unknown, source: FxSource, nowMs: number): Rate | Refusal {
  const read = (path: string) => valueAtPath(path.startsWith('$.') ? document : entry, withoutRoot(path))
  const [base, quote] = source.pair?.split('/') ?? [read(source.document.base), read(source.document.quote)]
  const [rate, atMs] = [read(source.document.rate), parseRateTime(read(source.document.time))]
  return validateRate({ source: source.id, base, quote, rate, atMs }, nowMs)
}

/** What a source of any kind has said, before it is believed. */
export interface ReportedRate {
  readonly source: string
  readonly base: unknown
  readonly quote: unknown
  /** Decimal text, if it is anything. */
  readonly rate: unknown
  readonly atMs: number | undefined
}

/** The rate, or why it cannot be one. The last gate before the store, whatever the kind of source. */
export function validateRate({ source, base, quote, rate, atMs }: ReportedRate, nowMs: number): Rate | Refusal {
  const about = `${valueText(base)}/${valueText(quote)}`
  if (!isCurrency(base) || !isCurrency(quote) || base === quote) {
    return { about, reason: 'the pair is not two currencies of three capital letters' }
  }
  const value = parseRateValue(rate)
  if (typeof value === 'object') return { about, reason: value.reason }
  if (atMs === undefined || !Number.isFinite(atMs)) {
    return { about, reason: 'the time is missing or is no ISO 8601 or Unix time' }
  }
  if (atMs > nowMs + aheadMaxMs) return { about, reason: `the time is ${formatAgeOf(nowMs - atMs)}` }
  return { source, base, quote, rate: value, atMs }
}

function parseRateValue(value: unknown): string | { readonly reason: string } {
  const parsed = typeof value === 'string' ? parseDecimal(value) : undefined
  if (!parsed) return { reason: `the rate ${valueText(value)} is not a decimal above zero` }
  if (parsed.digits === 0n) return { reason: 'the rate is zero' }
  const text = formatDecimal(parsed)
  if (compare(parsed, rateMin) < 0 || compare(parsed, rateMax) > 0 || text.length > digitsMax) {
    return { reason: `the rate ${valueText(value)} is beyond any exchange rate` }
  }
  return text
}

/** ISO 8601 with a zone, Unix seconds or milliseconds; undefined for anything else. */
function parseRateTime(value: unknown): number | undefined {
  if (typeof value !== 'string') return undefined
  if (secondsText.test(value)) return Math.floor(Number(value) * 1000)
  if (millisecondsText.test(value)) return Number(value)
  return parseTimestamp(value, { zone: 'needed' })
}

const isCurrency = (value: unknown): value is string => typeof value === 'string' && /^[A-Z]{3}$/.test(value)

const valueText = (value: unknown): string => (typeof value === 'string' ? value.slice(0, 40) : String(typeof value))

const withoutRoot = (path: string): string => (path.startsWith('$.') ? path.slice(2) : path)
