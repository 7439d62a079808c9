// The dates of the demo markets, relative to the day on which the demo was created.

const dayMs = 86_400_000

export const isoOf = (ms: number): string => new Date(ms).toISOString().replace('.000Z', 'Z')
export const dayAfter = (day: string): string => isoOf(Date.parse(day) + dayMs).slice(0, 10)

const format = (options: Intl.DateTimeFormatOptions) =>
  new Intl.DateTimeFormat('en-GB', { timeZone: 'UTC', year: 'numeric', month: 'long', ...options })
const withDay = format({ day: 'numeric' })
const withoutDay = format({})

/** Of 2026-12-31: 31 December 2026. */
export const dayName = (day: string): string => withDay.format(new Date(day))

export class DemoDates {
  /** Midnight (UTC) of the day on which the demo was created. */
  readonly startMs: number

  constructor(createdMs: number) {
    this.startMs = Math.floor(createdMs / dayMs) * dayMs
  }

  /** The time so many days after the start. */
  isoAt(days: number): string {
    return isoOf(this.startMs + days * dayMs)
  }

  /** The day so many days after the start, as 2026-12-31. */
  day(days: number): string {
    return this.isoAt(days).slice(0, 10)
  }

  /** The last day of the month so many months after that of the start. */
  monthEnd(months: number): string {
    return isoOf(this.#monthStart(months + 1) - dayMs).slice(0, 10)
  }

  /** As December 2026. */
  monthName(months: number): string {
    return withoutDay.format(new Date(this.#monthStart(months)))
  }

  #monthStart(months: number): number {
    const start = new Date(this.startMs)
    return Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + months, 1)
  }
}
