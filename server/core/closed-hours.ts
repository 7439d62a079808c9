// Computes how long a rate source was open between two times. Closed hours do not count towards the age of a rate: a
// rate from Friday is not stale on Sunday if the source is closed on weekends (behaviour/fx.md#closed-hours).
//
// 1. Closed hours are wall-clock times of one time zone. Each edge is converted to an instant separately, so that clock
//    changes during closed hours are counted correctly.
// 2. Overlapping closed hours (a holiday on a Sunday) count once.

export interface ClosedHours {
  /** `Fri 17:00 - Sun 17:00`; default: open all week. */
  readonly week?: string
  readonly timeZone: string
  /** `target`: closing days of the euro payment system. */
  readonly holidays: 'none' | 'target'
  /** Closed days: `2026-12-24`, or `12-24` for every year. */
  readonly dates: readonly string[]
}

export const weekPattern =
  /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun) ([01]\d|2[0-3]):([0-5]\d) - (Mon|Tue|Wed|Thu|Fri|Sat|Sun) ([01]\d|2[0-3]):([0-5]\d)$/

const weekdays = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']
const minuteMs = 60_000
const dayMs = 86_400_000
const weekMinutes = 10_080
/** Closed hours are ignored in longer spans. No staleness limit is that long. */
const spanMaxMs = 60 * dayMs

type Span = readonly [fromMs: number, untilMs: number]

/** Milliseconds between the two instants during which the source was open. */
export function openMs(closed: ClosedHours, fromMs: number, untilMs: number): number {
  if (untilMs <= fromMs || untilMs - fromMs > spanMaxMs) return untilMs - fromMs
  const week = weekOf(closed.week)
  const spans: Span[] = []
  // The closed hours of a week may have started up to seven days before.
  const firstDay = Math.floor(wallClockMs(closed.timeZone, fromMs) / dayMs) - 7
  const lastDay = Math.floor(wallClockMs(closed.timeZone, untilMs) / dayMs)
  for (let day = firstDay; day <= lastDay; day++) {
    const beginsMs = day * dayMs
    if (week && new Date(beginsMs).getUTCDay() === week.weekday) {
      spans.push([beginsMs + week.startMs, beginsMs + week.startMs + week.lengthMs])
    }
    if (isHoliday(closed, beginsMs)) spans.push([beginsMs, beginsMs + dayMs])
  }
  const instants = spans.map(
    ([from, until]): Span => [instantOf(closed.timeZone, from), instantOf(closed.timeZone, until)],
  )
  return untilMs - fromMs - covered(instants, fromMs, untilMs)
}

/** Whether an instant is in the closed hours. */
export const isClosedAt = (closed: ClosedHours, atMs: number): boolean => openMs(closed, atMs, atMs + 1) === 0

/** The local date at an instant: `2026-12-24`. */
export const localDate = (timeZone: string, atMs: number): string =>
  new Date(wallClockMs(timeZone, atMs)).toISOString().slice(0, 10)

function covered(spans: readonly Span[], fromMs: number, untilMs: number): number {
  let sum = 0
  let reached = fromMs
  for (const [from, until] of spans.toSorted((a, b) => a[0] - b[0])) {
    const begins = Math.max(from, reached)
    const ends = Math.min(until, untilMs)
    if (ends <= begins) continue
    sum += ends - begins
    reached = ends
  }
  return sum
}

function weekOf(text: string | undefined) {
  const [, startDay = '', startHour, startMinute, endDay = '', endHour, endMinute] = weekPattern.exec(text ?? '') ?? []
  if (startDay === '') return undefined
  const minutes = (day: string, hour?: string, minute?: string) =>
    weekdays.indexOf(day) * 1440 + Number(hour) * 60 + Number(minute)
  const start = minutes(startDay, startHour, startMinute)
  const length = (minutes(endDay, endHour, endMinute) - start + weekMinutes) % weekMinutes
  return { weekday: Math.floor(start / 1440), startMs: (start % 1440) * minuteMs, lengthMs: length * minuteMs }
}

function isHoliday({ holidays, dates }: ClosedHours, dayBeginsMs: number): boolean {
  const date = new Date(dayBeginsMs).toISOString().slice(0, 10)
  if (dates.includes(date) || dates.includes(date.slice(5))) return true
  return holidays === 'target' && isTargetHoliday(date)
}

const targetDays = ['01-01', '05-01', '12-25', '12-26']

function isTargetHoliday(date: string): boolean {
  if (targetDays.includes(date.slice(5))) return true
  const fromEaster = (Date.parse(`${date}T00:00:00Z`) - easterMs(Number(date.slice(0, 4)))) / dayMs
  return fromEaster === -2 || fromEaster === 1
}

/** Easter Sunday of the Gregorian calendar (Meeus/Jones/Butcher algorithm). */
export function easterMs(year: number): number {
  const a = year % 19
  const century = Math.floor(year / 100)
  const ofCentury = year % 100
  const g = Math.floor((8 * century + 13) / 25)
  const h = (19 * a + century - Math.floor(century / 4) - g + 15) % 30
  const l = (32 + 2 * (century % 4) + 2 * Math.floor(ofCentury / 4) - h - (ofCentury % 4)) % 7
  const m = Math.floor((a + 11 * h + 22 * l) / 451)
  const month = Math.floor((h + l - 7 * m + 114) / 31)
  return Date.UTC(year, month - 1, ((h + l - 7 * m + 114) % 31) + 1)
}

/** How far local time is ahead of UTC at an instant. Throws a RangeError for an unknown time zone. */
export function offsetMs(timeZone: string, atMs: number): number {
  const parts = offsetFormat(timeZone).formatToParts(atMs)
  const text = parts.find(({ type }) => type === 'timeZoneName')?.value ?? ''
  // "GMT", "GMT+05:30", or with seconds before time zones were unified.
  const [, sign, hours = 0, minutes = 0, seconds = 0] = /^GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?$/.exec(text) ?? []
  const size = (Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)) * 1000
  return sign === '-' ? -size : size
}

const offsetFormats = new Map<string, Intl.DateTimeFormat>()
const offsetFormatsMax = 100

/** Kept, because creating one takes longer than using it. */
function offsetFormat(timeZone: string): Intl.DateTimeFormat {
  if (offsetFormats.size >= offsetFormatsMax) offsetFormats.clear()
  return offsetFormats.getOrInsertComputed(
    timeZone,
    () => new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' }),
  )
}

/** The local time at an instant, as if it were UTC. */
const wallClockMs = (timeZone: string, atMs: number): number => atMs + offsetMs(timeZone, atMs)

/** The instant of a local time. For an hour that occurs twice, one of the two instants. */
export function instantOf(timeZone: string, wallMs: number): number {
  const guess = wallMs - offsetMs(timeZone, wallMs)
  return wallMs - offsetMs(timeZone, guess)
}
