// Converts the bounds of a request into epochs, and compares them with the epochs that are stored.

import type { Network } from '#api/contract/wire/validators.ts'
import {
  type CalendarUnit,
  calendarUnits,
  type DateNumber,
  type Dates,
  dateAt,
  parseDate,
  unitOf,
} from '#core/calendar.ts'
import {
  type ChainDay,
  type ChainHour,
  type ChainTime,
  chainDays,
  type DayCalendar,
  type Epoch,
  type Epochs,
  epochsOfHour,
} from '#core/chain-time.ts'
import { Fault, invalid, type Problem } from '#core/fault.ts'
import { parseDay, parseTimestamp } from '#core/parse-timestamp.ts'
import { describeCoverage, type Range, within } from '#core/ranges.ts'
import type { Confidence } from '#http/handler.ts'
import { networkSettings } from '#runtime/settings/validators.ts'
import type { Settings } from '#runtime/settings.ts'
import type { Granularity } from './windows.ts'

export const chainTimeOf = (settings: Settings, network: Network): ChainTime => networkSettings(settings, network)

export interface QueryBounds {
  readonly from?: string | undefined
  readonly to?: string | undefined
  readonly filterType: 'hour' | 'day' | 'datetime'
  readonly granularity: Granularity
}

/** Without an upper bound, `until` is infinite. */
export interface RequestedEpochs extends Range {
  /** The earlier bound, as the caller wrote it. */
  readonly older: string | undefined
}

/** The epochs between the bounds, which may be in either order. */
export function requestedEpochs(time: ChainTime, { from, to, ...options }: QueryBounds): RequestedEpochs {
  const first = from === undefined ? undefined : epochsAt(time, 'from', from, options)
  const last = to === undefined ? undefined : epochsAt(time, 'to', to, options)
  if (!first) return { from: last?.from ?? 0, until: Number.POSITIVE_INFINITY, older: to }
  if (!last) return { from: 0, until: first.until, older: undefined }
  const span = { from: Math.min(first.from, last.from), until: Math.max(first.until, last.until) }
  return { ...span, older: first.from < last.from ? from : to }
}

/** The epochs of one bound (behaviour/validators.md#time-bounds-of-the-aggregate). */
function epochsAt(
  time: ChainTime,
  name: 'from' | 'to',
  text: string,
  { filterType, granularity }: Omit<QueryBounds, 'from' | 'to'>,
): Range {
  const calendar = chainDays(time)
  if (filterType === 'hour') return epochsOfHour(time, wholeNumber(name, text, 'an hour number') as ChainHour)
  if (filterType === 'day') return calendar.epochsOf(wholeNumber(name, text, 'a day number') as ChainDay)
  const unit = calendarUnits.find((candidate) => candidate === granularity)
  const dateMs = parseDay(text)
  if (dateMs !== undefined) return epochsOfDates(calendar, datesAround(unit, dateAt(dateMs)))
  const day = Math.max(0, calendar.dayAt(parseTime(name, text))) as ChainDay
  return unit ? epochsOfDates(calendar, unitOf(unit, calendar.dateOf(day))) : calendar.epochsOf(day)
}

const datesAround = (unit: CalendarUnit | undefined, date: DateNumber): Dates =>
  unit ? unitOf(unit, date) : { from: date, until: (date + 1) as DateNumber }

/** The epochs of all days that start on these dates. */
const epochsOfDates = (calendar: DayCalendar<ChainDay>, { from, until }: Dates): Range => ({
  from: calendar.epochsOf(calendar.firstFrom(from)).from,
  until: calendar.epochsOf((calendar.firstFrom(until) - 1) as ChainDay).until,
})

function wholeNumber(name: string, text: string, what: string): number {
  // Ten digits are more than enough, and exact.
  if (/^\d{1,10}$/.test(text)) return Number(text)
  throw invalid(['query', name], `must be ${what}; for a date or time send filterType=datetime`, text)
}

/** An unescaped plus in a URL is parsed as a space. */
const unescapedPlus = / (?=\d\d:?\d\d$)/
const dateChars = '2026-10-01'.length

/** ISO 8601, UTC unless it has a zone. */
export function parseTime(name: string, text: string): number {
  const sent = text.slice(0, dateChars + 1) + text.slice(dateChars + 1).replace(unescapedPlus, '+')
  const atMs = parseDay(text) ?? parseTimestamp(sent, { zone: 'utc' })
  if (atMs === undefined) throw invalid(['query', name], 'must be an ISO 8601 date or time', text)
  return atMs
}

/** The bounds of spec 4.6. */
export interface DayBounds {
  readonly fromDate?: string | undefined
  readonly toDate?: string | undefined
  readonly fromDay?: number | undefined
  readonly toDay?: number | undefined
}

/** If both kinds of bounds are given, both apply (behaviour/validators.md#records-of-one-validator). */
export function requestedDays(query: DayBounds, calendar: DayCalendar): Range {
  const fromDate = query.fromDate === undefined ? undefined : calendar.firstFrom(parseDate(query.fromDate))
  const untilDate = query.toDate === undefined ? undefined : calendar.firstFrom((parseDate(query.toDate) + 1) as never)
  refuseInverted(query, fromDate, untilDate)
  const from = Math.max(query.fromDay ?? 0, fromDate ?? 0)
  const until = Math.min((query.toDay ?? Number.POSITIVE_INFINITY) + 1, untilDate ?? Number.POSITIVE_INFINITY)
  const fromEpoch = calendar.epochsOf(from).from
  if (until === Number.POSITIVE_INFINITY) return { from: fromEpoch, until }
  return { from: fromEpoch, until: Math.max(fromEpoch, calendar.epochsOf(until - 1).until) }
}

/** Dates are compared as dates and days as days; one of each, as days. */
function refuseInverted(query: DayBounds, fromDate: number | undefined, untilDate: number | undefined): void {
  const { fromDay, toDay } = query
  const pairs: readonly (readonly [string, string, boolean])[] = [
    ['fromDay', 'toDay', fromDay !== undefined && toDay !== undefined && fromDay > toDay],
    ['fromDate', 'toDate', query.fromDate !== undefined && query.toDate !== undefined && query.fromDate > query.toDate],
    ['fromDay', 'toDate', fromDay !== undefined && untilDate !== undefined && fromDay >= untilDate],
    ['fromDate', 'toDay', fromDate !== undefined && toDay !== undefined && fromDate > toDay],
  ]
  const problems: Problem[] = pairs
    .filter(([, , isInverted]) => isInverted)
    .map(([from, to]) => ({ at: ['query', from], message: `must not be after ${to}` }))
  if (problems.length > 0) throw invalidInput(problems)
}

/** Of requests that have no bounds. */
export const allEpochs: Range = { from: 0, until: Number.POSITIVE_INFINITY }

/** The headers of a response: the last epoch that was read, and which of the requested epochs are stored (`kept`). */
export function toConfidence(
  covered: readonly Range[],
  requested: Range = allEpochs,
  kept: readonly Range[] = covered,
): Confidence {
  const last = covered.at(-1)
  if (!last) return { finality: 'finalized', coverage: 'none' }
  // Future epochs are a gap only if the caller requested them explicitly.
  const until = Number.isFinite(requested.until) ? requested.until : Math.max(last.until, requested.from + 1)
  return {
    asOf: last.until - 1,
    finality: 'finalized',
    coverage: describeCoverage(kept, { from: requested.from, until }),
  }
}

/** For responses that include epochs which are not final. */
export const withFinality = (confidence: Confidence, { isFinal }: { readonly isFinal: boolean }): Confidence =>
  isFinal ? confidence : { ...confidence, finality: 'head' }

/** The requested epochs from the first to the last covered one; undefined: none. */
export function servedEpochs(covered: readonly Range[], requested: Range): { from: Epoch; until: Epoch } | undefined {
  const [first, last] = [covered[0], covered.at(-1)]
  if (!first || !last) return undefined
  const [from, until] = [Math.max(first.from, requested.from), Math.min(last.until, requested.until)]
  return from < until ? { from: from as Epoch, until: until as Epoch } : undefined
}

/** The range from its first to its last covered epoch, so that a record never claims more. */
export function clipToCovered(covered: readonly Range[], epochs: Epochs): Epochs {
  const read = within(covered, epochs)
  const [first, last] = [read[0], read.at(-1)]
  return first && last ? { from: first.from as Epoch, until: last.until as Epoch } : epochs
}

export const invalidInput = (problems: readonly Problem[]): Fault => new Fault('input.invalid', { problems })
