// The windows of records: days, calendar weeks to years, or the whole requested span. A window has a number (key) that
// ascends with time. Its days are cut to the requested span.
import { type CalendarUnit, type DateNumber, unitOf } from '#core/calendar.ts'
import type { DayCalendar } from '#core/chain-time.ts'
import type { Range } from '#core/ranges.ts'

export type Granularity = 'day' | CalendarUnit | 'all'

export interface Windows {
  keyOf(day: number): number
  /** The days of a window that are within the span. */
  daysOf(key: number): Range
}

export function windowsOver(calendar: DayCalendar, granularity: Granularity, span: Range): Windows {
  if (granularity === 'day') {
    return { keyOf: (day) => day, daysOf: (key) => ({ from: key, until: key + 1 }) }
  }
  if (granularity === 'all') return { keyOf: () => 0, daysOf: () => span }
  // The key is the first date of the week, month, quarter or year.
  return {
    keyOf: (day) => unitOf(granularity, calendar.dateOf(day)).from,
    daysOf: (key) => {
      const { from, until } = wholeWindow(calendar, granularity, key as DateNumber)
      return { from: Math.max(from, span.from), until: Math.min(until, span.until) }
    },
  }
}

/** The key of each day's window. */
export const keysOf = ({ keyOf }: Pick<Windows, 'keyOf'>, { from, until }: Range): number[] =>
  Array.from({ length: Math.max(0, until - from) }, (_, at) => keyOf(from + at))

/** The number of windows of these days. */
export const windowsIn = (windows: Pick<Windows, 'keyOf'>, { from, until }: Range): number =>
  new Set(keysOf(windows, { from, until })).size

/** All days whose date lies in the same week, month, quarter or year as `date`. */
function wholeWindow(calendar: DayCalendar, unit: CalendarUnit, date: DateNumber): Range {
  const dates = unitOf(unit, date)
  return { from: calendar.firstFrom(dates.from), until: calendar.firstFrom(dates.until) }
}
