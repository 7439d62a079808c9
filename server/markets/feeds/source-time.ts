// When a source says that something changed. Without a zone that is UTC, whatever the time zone of this machine; a zone of
// whole hours (`+00`) and a day alone are read too, because feeds write them.
import { parseDay, parseTimestamp } from '#core/parse-timestamp.ts'

const utc = { zone: 'utc' } as const

/** Unix milliseconds; undefined for what is no time. */
export function sourceMs(value: unknown): number | undefined {
  if (typeof value !== 'string') return undefined
  return parseTimestamp(value, utc) ?? parseTimestamp(`${value}:00`, utc) ?? parseDay(value)
}
