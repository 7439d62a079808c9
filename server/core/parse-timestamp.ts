// Parses RFC 3339 timestamps (2026-11-15T18:00:00.5+01:00). Seconds and the colon of the zone are optional, and a space
// may replace the T. Date.parse is not used, because its result depends on its version and the local time zone.
//
// 1. Invalid dates and times are rejected: 30 February, 24:00, leap seconds.
// 2. Results can be written as RFC 3339: they are within the years 0000 to 9999 in UTC.

const timePattern =
  /^(\d{4})-(\d\d)-(\d\d)[Tt ]([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d)(?:\.(\d+))?)?(?:([Zz])|([+-])([01]\d|2[0-3]):?([0-5]\d))?$/
const minuteMs = 60_000
const firstMs = -62_167_219_200_000
const lastMs = 253_402_300_799_999

/**
 * Unix milliseconds; smaller units are cut off. Undefined for invalid text. `zone`: whether a text without a zone is
 * invalid or UTC.
 */
export function parseTimestamp(text: string, { zone }: { readonly zone: 'needed' | 'utc' }): number | undefined {
  const [whole, year, month, day, hour, minute, second = 0, fraction = '', utc, sign, zoneHours, zoneMinutes] =
    timePattern.exec(text) ?? []
  if (whole === undefined || (zone === 'needed' && utc === undefined && sign === undefined)) return undefined
  const dayStartMs = startOfDay(Number(year), Number(month), Number(day))
  if (dayStartMs === undefined) return undefined
  const minutes = Number(hour) * 60 + Number(minute)
  const ahead = sign === undefined ? 0 : (sign === '+' ? 1 : -1) * (Number(zoneHours) * 60 + Number(zoneMinutes))
  const milliseconds = Number(second) * 1000 + Number(fraction.slice(0, 3).padEnd(3, '0'))
  const atMs = dayStartMs + (minutes - ahead) * minuteMs + milliseconds
  return atMs < firstMs || atMs > lastMs ? undefined : atMs
}

const dayPattern = /^(\d{4})-(\d\d)-(\d\d)$/

/** The start of a UTC day; undefined for invalid text. */
export function parseDay(text: string): number | undefined {
  const [whole, year, month, day] = dayPattern.exec(text) ?? []
  return whole === undefined ? undefined : startOfDay(Number(year), Number(month), Number(day))
}

/** Undefined for dates that do not exist. */
function startOfDay(year: number, month: number, day: number): number | undefined {
  // Date.UTC maps the years 0 to 99 to 1900 to 1999.
  const date = new Date(0)
  date.setUTCFullYear(year, month - 1, day)
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day ? date.getTime() : undefined
}
