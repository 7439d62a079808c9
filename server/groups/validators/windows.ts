// Windows of time that records are about: days, calendar weeks to years of days, or everything at once. A window is
// known by a number that grows with time; its days are cut to the span that was asked for.
import { type CalendarUnit, type DateNumber, unitOf } from '#core/calendar.ts'
import type { DayLine } from '#core/chain-time.ts'
import type { Range } from '#core/ranges.ts'

export type Granularity = 'day' | CalendarUnit | 'all'

export interface Windows {
  /** How SQL over rows with a column `day` finds a row's window. */
  readonly sql: { readonly key: string; readonly join: string; readonly lists: Readonly<Record<string, number[]>> }
  keyOf(day: number): number
  /** The days of a window within the span. */
  daysOf(key: number): Range
}

/** Room for the dates of 2 800 years beside a day number in one whole number. */
const dateRoom = 2 ** 20

export function windowsOver(line: DayLine, granularity: Granularity, span: Range): Windows {
  if (granularity === 'day') {
    return {
      sql: { key: 'day', join: '', lists: {} },
      keyOf: (day) => day,
      daysOf: (key) => ({ from: key, until: key + 1 }),
    }
  }
  if (granularity === 'all') return { sql: { key: '0', join: '', lists: {} }, keyOf: () => 0, daysOf: () => span }
  // A calendar window goes by the date of its first day. Engines differ in their calendars, so the days are looked up in
  // a list that travels with the query: one number for a day and its window.
  const windowOf = (day: number) => unitOf(granularity, line.dateOf(day))
  const days = Array.from({ length: Math.max(0, span.until - span.from) }, (_, at) => span.from + at)
  return {
    sql: {
      key: 'window_date',
      join: `join (select cast(floor(id / ${dateRoom}) as integer) as window_day, id % ${dateRoom} as window_date
             from {windows}) as calendar on calendar.window_day = days.day`,
      lists: { windows: days.map((day) => day * dateRoom + windowOf(day).from) },
    },
    keyOf: (day) => windowOf(day).from,
    daysOf: (key) => {
      const { from, until } = wholeWindow(line, granularity, key as DateNumber)
      return { from: Math.max(from, span.from), until: Math.min(until, span.until) }
    },
  }
}

/** How many windows the days have. */
export const windowsIn = (windows: Pick<Windows, 'keyOf'>, { from, until }: Range): number =>
  new Set(Array.from({ length: until - from }, (_, at) => windows.keyOf(from + at))).size

/** All days whose date lies in the same week, month, quarter or year as `date`. */
export function wholeWindow(line: DayLine, unit: CalendarUnit, date: DateNumber): Range {
  const dates = unitOf(unit, date)
  return { from: line.firstFrom(dates.from), until: line.firstFrom(dates.until) }
}
