// The layout of a calendar: a column for each week, a row for each day of the week, Monday first.

export interface CalendarDay {
  /** ISO date, UTC. */
  readonly date: string
  /** The number of the UTC day. */
  readonly day: number
  /** Effectiveness, 0 to 100; null: no duties. */
  readonly value: number | null
}

export type CalendarCell = ReturnType<typeof calendarCells>[number]

const dayMs = 86_400_000
const weekdayOf = (ms: number): number => (new Date(ms).getUTCDay() + 6) % 7

/** All dates from the Monday of the first week to the newest date, at most `weeksMax` weeks. */
export function calendarCells(days: readonly CalendarDay[], weeksMax: number) {
  const known = new Map(days.map((day) => [Date.parse(day.date), day]))
  if (known.size === 0) return []
  const last = Math.max(...known.keys())
  const lastMonday = last - weekdayOf(last) * dayMs
  const oldest = Math.min(...known.keys())
  const first = Math.max(oldest - weekdayOf(oldest) * dayMs, lastMonday - (weeksMax - 1) * 7 * dayMs)
  return Array.from({ length: (last - first) / dayMs + 1 }, (_, at) => {
    const ms = first + at * dayMs
    const day = known.get(ms)
    return {
      date: new Date(ms).toISOString().slice(0, 10),
      /** Undefined: nothing is known about this day. */
      day: day?.day,
      value: day?.value ?? null,
      week: Math.floor(at / 7),
      /** 0 is Monday. */
      weekday: at % 7,
    }
  })
}
