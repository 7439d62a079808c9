// Parses a source's JSON document into rates, using the paths of its settings, and validates rates of all kinds of sources.
// An invalid rate is rejected with a reason and never stored (behaviour/fx.md#rate-documents). Pure.
import { formatAgeOf } from '#core/age.ts'
import { parseDay, parseTimestamp } from '#core/parse-timestamp.ts'
import type { FxSource } from '#runtime/settings/fx.ts'
import { keyPath } from '#runtime/settings/fx-documents.ts'
import { aheadMaxMs, type Rate } from '../pricing/mid.ts'
import { openEntries, type ReadPath } from './document-entries.ts'
import { parseRateValue, readPrices, valueText } from './document-prices.ts'

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

interface ParseRules {
  readonly source: FxSource
  readonly nowMs: number
  readonly apartMaxPpm: bigint
}

/** Throws if there are no entries at the configured path. `apartMaxPpm`: how far an ask may be above its bid. */
export function parseRateDocument(
  document: unknown,
  source: FxSource,
  nowMs: number,
  apartMaxPpm = 20_000n,
): ParsedRates {
  const readers = openEntries(document, source.document)
  const rules = { source, nowMs, apartMaxPpm }
  const results = source.pairs
    ? source.pairs.flatMap((pair) => parseNamedPair(readers, pair, rules))
    : readers.map((read) => parseRateEntry(read, currenciesOf(source, read), rules))
  return toParsedRates(results.filter((result) => result !== undefined))
}

function parseNamedPair(
  readers: readonly ReadPath[],
  { name, pair }: { readonly name: string; readonly pair: string },
  rules: ParseRules,
): readonly (Rate | RejectedRate | undefined)[] {
  const found = readers.filter((read) => read(rules.source.document.name) === name)
  const reason = `the document has no entry with the name ${name}; check document.name and pairs`
  return found.length === 0
    ? [{ about: pair, reason }]
    : found.map((read) => parseRateEntry(read, pair.split('/'), rules))
}

const currenciesOf = ({ pair, document }: FxSource, read: ReadPath): readonly unknown[] =>
  pair?.split('/') ?? [read(document.base), read(document.quote)]

/** The rates are sorted, oldest first. */
export const toParsedRates = (results: readonly (Rate | RejectedRate)[]): ParsedRates => ({
  rates: results.filter((result) => 'atMs' in result).toSorted((a, b) => a.atMs - b.atMs),
  rejected: results.filter((result) => 'reason' in result),
})

/** Undefined: nothing to read. Documents that are keyed by currency contain their own base. */
function parseRateEntry(
  read: ReadPath,
  [base, quote]: readonly unknown[],
  { source, nowMs, apartMaxPpm }: ParseRules,
): Rate | RejectedRate | undefined {
  const { document } = source
  if (base === quote && [document.base, document.quote].includes(keyPath)) return undefined
  const prices = readPrices(document, read, apartMaxPpm)
  if ('reason' in prices) return { about: `${valueText(base)}/${valueText(quote)}`, reason: prices.reason }
  const atMs = readRateTime(source, read(document.time), nowMs)
  const rate = validateRate({ source: source.id, base, quote, rate: prices.rate, atMs }, nowMs)
  return 'reason' in rate || prices.sides === undefined ? rate : { ...rate, ...prices.sides }
}

function readRateTime({ document }: FxSource, value: unknown, nowMs: number): number | undefined {
  if (document.times === 'received') return nowMs
  if (document.times === 'date') return typeof value === 'string' ? parseDay(value) : undefined
  return parseRateTime(value, document.times === 'utc' ? 'utc' : 'needed')
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

/** Accepts ISO 8601, Unix seconds and Unix milliseconds. */
function parseRateTime(value: unknown, zone: 'needed' | 'utc'): number | undefined {
  if (typeof value !== 'string') return undefined
  if (secondsText.test(value)) return Math.floor(Number(value) * 1000)
  if (millisecondsText.test(value)) return Number(value)
  return parseTimestamp(value, { zone })
}

const isCurrency = (value: unknown): value is string => typeof value === 'string' && /^[A-Z]{3}$/.test(value)
