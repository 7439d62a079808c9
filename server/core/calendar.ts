// ISO weeks, months, quarters and years of the UTC calendar, as half-open ranges of dates.

declare const kind: unique symbol
/** Days since 1970-01-01, UTC. */
export type DateNumber = number & { readonly [kind]: 'date' }

export interface Dates {
  readonly from: DateNumber
  readonly until: DateNumber
}

export const calendarUnits = ['week', 'month', 'quarter', 'year'] as const
export type CalendarUnit = (typeof calendarUnits)[number]

const dayMs = 86_400_000
const monthsOf = { month: 1, quarter: 3, year: 12 } as const

export const dateAt = (atMs: number): DateNumber => Math.floor(atMs / dayMs) as DateNumber

/** `2026-11-15` → its number. The text must be valid. */
export const parseDate = (text: string): DateNumber => dateAt(Date.parse(`${text}T00:00:00Z`))

/** A response has hundreds of dates, and `toISOString` takes several times as long. */
export function formatDate(date: DateNumber): string {
  const day = new Date(date * dayMs)
  const year = day.getUTCFullYear()
  if (year < 1000 || year > 9999) return day.toISOString().slice(0, 10)
  return `${year}-${twoDigits(day.getUTCMonth() + 1)}-${twoDigits(day.getUTCDate())}`
}

const twoDigits = (value: number): string => (value < 10 ? `0${value}` : String(value))

/** The week, month, quarter or year that contains the date. */
export function unitOf(unit: CalendarUnit, date: DateNumber): Dates {
  if (unit === 'week') {
    // 1970-01-01 was a Thursday, the fourth day of an ISO week.
    const from = Math.floor((date + 3) / 7) * 7 - 3
    return { from: from as DateNumber, until: (from + 7) as DateNumber }
  }
  const months = monthsOf[unit]
  const day = new Date(date * dayMs)
  const month = Math.floor(day.getUTCMonth() / months) * months
  const firstOf = (index: number) => dateAt(Date.UTC(day.getUTCFullYear(), index, 1))
  return { from: firstOf(month), until: firstOf(month + months) }
}
