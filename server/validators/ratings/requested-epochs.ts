// From the bounds that a caller names to the epochs that are asked for, and how much of them is there.
import type { Network } from '#api/wire/validators.ts'
import { calendarUnits, parseDate } from '#core/calendar.ts'
import {
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
import type { Settings } from '#runtime/settings.ts'
import { type Granularity, wholeWindow } from './windows.ts'

export const chainTimeOf = (settings: Settings, network: Network): ChainTime => settings.validators.networks[network]

export interface QueryBounds {
  readonly from?: string | undefined
  readonly to?: string | undefined
  readonly filterType: 'hour' | 'day' | 'datetime'
  readonly granularity: Granularity
}

/** Epochs; without an upper bound `until` is infinite. */
export interface RequestedEpochs extends Range {
  /** The bound that lies further back, as the caller wrote it. */
  readonly older: string | undefined
}

/** Epochs between the bounds, whichever of them is the later one. */
export function requestedEpochs(time: ChainTime, { from, to, ...how }: QueryBounds): RequestedEpochs {
  const first = from === undefined ? undefined : epochsAt(time, 'from', from, how)
  const last = to === undefined ? undefined : epochsAt(time, 'to', to, how)
  if (!first) return { ...notBelowZero({ from: last?.from ?? 0, until: Number.POSITIVE_INFINITY }), older: to }
  if (!last) return { ...notBelowZero({ from: 0, until: first.until }), older: undefined }
  const span = { from: Math.min(first.from, last.from), until: Math.max(first.until, last.until) }
  return { ...notBelowZero(span), older: first.from < last.from ? from : to }
}

const notBelowZero = ({ from, until }: Range): Range => ({ from: Math.max(0, from), until: Math.max(0, until) })

/** The same epochs and those up to where the first page started, when this is a later one (behaviour/validators.md#paging-of-the-aggregate). */
export function countedEpochs(
  time: ChainTime,
  requested: Range,
  { newest, ...how }: Omit<QueryBounds, 'from' | 'to'> & { readonly newest?: string | undefined },
): Range {
  if (newest === undefined) return requested
  return { from: requested.from, until: Math.max(requested.until, epochsAt(time, 'newest', newest, how).until) }
}

/** What one bound stands for. A time stands for the whole window that holds it (behaviour/validators.md#time-bounds-of-the-aggregate). */
function epochsAt(
  time: ChainTime,
  name: 'from' | 'to' | 'newest',
  text: string,
  how: Omit<QueryBounds, 'from' | 'to'>,
): Range {
  const line = chainDays(time)
  if (how.filterType === 'hour') return epochsOfHour(time, wholeNumber(name, text, 'an hour number') as ChainHour)
  if (how.filterType === 'day') return line.epochsOf(wholeNumber(name, text, 'a day number') as never)
  const day = line.dayAt(parseTime(name, text))
  const unit = calendarUnits.find((candidate) => candidate === how.granularity)
  if (!unit || day < 0) return line.epochsOf(day)
  const days = wholeWindow(line, unit, line.dateOf(day))
  return { from: line.epochsOf(days.from as never).from, until: line.epochsOf((days.until - 1) as never).until }
}

function wholeNumber(name: string, text: string, what: string): number {
  // Ten digits reach further than any chain will, and stay exact.
  if (/^\d{1,10}$/.test(text)) return Number(text)
  throw invalid(['query', name], `must be ${what}; for a date or time send filterType=datetime`, text)
}

/** A plus that was not escaped in the URL arrives as a space. */
const lostPlus = / (?=\d\d:?\d\d$)/
const dateChars = '2026-10-01'.length

/** ISO 8601; without a zone it is UTC. */
export function parseTime(name: string, text: string): number {
  const sent = text.slice(0, dateChars + 1) + text.slice(dateChars + 1).replace(lostPlus, '+')
  const atMs = parseDay(text) ?? parseTimestamp(sent, { zone: 'utc' })
  if (atMs === undefined) throw invalid(['query', name], 'must be an ISO 8601 date or time', text)
  return atMs
}

/** How 4.6 is told what to answer about. */
export interface DayBounds {
  readonly fromDate?: string | undefined
  readonly toDate?: string | undefined
  readonly fromDay?: number | undefined
  readonly toDay?: number | undefined
}

/** Both kinds of bounds may be given; then both hold (behaviour/validators.md#records-of-one-validator). */
export function requestedDays(query: DayBounds, line: DayCalendar): Range {
  const fromDate = query.fromDate === undefined ? undefined : line.firstFrom(parseDate(query.fromDate))
  const untilDate = query.toDate === undefined ? undefined : line.firstFrom((parseDate(query.toDate) + 1) as never)
  refuseInverted(query, fromDate, untilDate)
  const from = Math.max(query.fromDay ?? 0, fromDate ?? 0)
  const until = Math.min((query.toDay ?? Number.POSITIVE_INFINITY) + 1, untilDate ?? Number.POSITIVE_INFINITY)
  const fromEpoch = line.epochsOf(from).from
  if (until === Number.POSITIVE_INFINITY) return { from: fromEpoch, until }
  return { from: fromEpoch, until: Math.max(fromEpoch, line.epochsOf(until - 1).until) }
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

/** What an answer rests on: the last finalized epoch that has been read, and which of the asked ones are there for those it is about. */
export function toConfidence(
  covered: readonly Range[],
  requested: Range,
  kept: readonly Range[] = covered,
): Confidence {
  const last = covered.at(-1)
  if (!last) return { finality: 'finalized', coverage: 'none' }
  // What is still to come is not a hole, unless it was asked for by name.
  const until = Number.isFinite(requested.until) ? requested.until : Math.max(last.until, requested.from + 1)
  return {
    asOf: last.until - 1,
    finality: 'finalized',
    coverage: describeCoverage(kept, { from: requested.from, until }),
  }
}

/** The asked epochs that can have rows; undefined when there are none. */
export function servedEpochs(covered: readonly Range[], requested: Range): { from: Epoch; until: Epoch } | undefined {
  const [first, last] = [covered[0], covered.at(-1)]
  if (!first || !last) return undefined
  const [from, until] = [Math.max(first.from, requested.from), Math.min(last.until, requested.until)]
  return from < until ? { from: from as Epoch, until: until as Epoch } : undefined
}

/** From the first to the last epoch of the range that has been read: an answer never claims more at its ends. */
export function clipToCovered(covered: readonly Range[], epochs: Epochs): Epochs {
  const read = within(covered, epochs)
  const [first, last] = [read[0], read.at(-1)]
  return first && last ? { from: first.from as Epoch, until: last.until as Epoch } : epochs
}

export const invalidInput = (problems: readonly Problem[]): Fault =>
  new Fault('input.invalid', {
    problems,
    detail: problems.map(({ at, message }) => `${at.join('.')}: ${message}`).join('; '),
  })
