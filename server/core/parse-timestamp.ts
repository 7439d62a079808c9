// A moment as text: RFC 3339 (2026-11-15T18:00:00.5+01:00). The seconds and the colon of the zone may be left out, and a
// space may stand for the T, as feeds and people write them. What the host's own parser makes of other texts depends on
// its version and on the time zone of the machine, so no text from outside goes there.
//
// 1. Only what a calendar and a clock can show is a moment: no 30 February, no 24:00, no leap second.
// 2. Whatever is read can be written as RFC 3339 again: it lies within the years 0000 to 9999, zone and all.

const timePattern =
  /^(\d{4})-(\d\d)-(\d\d)[Tt ]([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d)(?:\.(\d+))?)?(?:([Zz])|([+-])([01]\d|2[0-3]):?([0-5]\d))?$/
const minuteMs = 60_000
const firstMs = -62_167_219_200_000
const lastMs = 253_402_300_799_999

/**
 * Unix milliseconds, what is finer is cut off; undefined when the text is no moment. `zone` says what a text without one
 * means: nothing, or UTC.
 */
export function parseTimestamp(text: string, { zone }: { readonly zone: 'needed' | 'utc' }): number | undefined {
  const [whole, year, month, day, hour, minute, second = 0, fraction = '', utc, sign, zoneHours, zoneMinutes] =
    timePattern.exec(text) ?? []
  if (whole === undefined || (zone === 'needed' && utc === undefined && sign === undefined)) return undefined
  const dayBeginsMs = firstOf(Number(year), Number(month), Number(day))
  if (dayBeginsMs === undefined) return undefined
  const minutes = Number(hour) * 60 + Number(minute)
  const ahead = sign === undefined ? 0 : (sign === '+' ? 1 : -1) * (Number(zoneHours) * 60 + Number(zoneMinutes))
  const milliseconds = Number(second) * 1000 + Number(fraction.slice(0, 3).padEnd(3, '0'))
  const atMs = dayBeginsMs + (minutes - ahead) * minuteMs + milliseconds
  return atMs < firstMs || atMs > lastMs ? undefined : atMs
}

const dayPattern = /^(\d{4})-(\d\d)-(\d\d)$/

/** The first moment of a day in UTC; undefined when the text is no day. */
export function parseDay(text: string): number | undefined {
  const [whole, year, month, day] = dayPattern.exec(text) ?? []
  return whole === undefined ? undefined : firstOf(Number(year), Number(month), Number(day))
}

/** Undefined for what no calendar has. */
function firstOf(year: number, month: number, day: number): number | undefined {
  // Date.UTC takes the years 0 to 99 for those of the last century.
  const date = new Date(0)
  date.setUTCFullYear(year, month - 1, day)
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day ? date.getTime() : undefined
}
