// Windows of time that records are about: days, calendar weeks to years of days, or everything at once. A window is
// known by a number that grows with time; its days are cut to the span that was asked for.
import { type CalendarUnit, type DateNumber, unitOf } from '#core/calendar.ts'
import type { DayCalendar } from '#core/chain-time.ts'
import type { Range } from '#core/ranges.ts'

export type Granularity = 'day' | CalendarUnit | 'all'

export interface Windows {
  keyOf(day: number): number
  /** The days of a window within the span. */
  daysOf(key: number): Range
}

export function windowsOver(line: DayCalendar, granularity: Granularity, span: Range): Windows {
  if (granularity === 'day') {
    return { keyOf: (day) => day, daysOf: (key) => ({ from: key, until: key + 1 }) }
  }
  if (granularity === 'all') return { keyOf: () => 0, daysOf: () => span }
  // A calendar window goes by the date of its first day.
  return {
    keyOf: (day) => unitOf(granularity, line.dateOf(day)).from,
    daysOf: (key) => {
      const { from, until } = wholeWindow(line, granularity, key as DateNumber)
      return { from: Math.max(from, span.from), until: Math.min(until, span.until) }
    },
  }
}

/** The window of each of these days. */
export const keysOf = ({ keyOf }: Pick<Windows, 'keyOf'>, { from, until }: Range): number[] =>
  Array.from({ length: Math.max(0, until - from) }, (_, at) => keyOf(from + at))

/** How many windows the days have. */
export const windowsIn = (windows: Pick<Windows, 'keyOf'>, { from, until }: Range): number =>
  new Set(keysOf(windows, { from, until })).size

/** All days whose date lies in the same week, month, quarter or year as `date`. */
export function wholeWindow(line: DayCalendar, unit: CalendarUnit, date: DateNumber): Range {
  const dates = unitOf(unit, date)
  return { from: line.firstFrom(dates.from), until: line.firstFrom(dates.until) }
}
