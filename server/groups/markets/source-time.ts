// When a source says that something changed. Without a zone that is UTC, whatever the time zone of this machine; a zone of
// whole hours (`+00`) and a day alone are read too, because feeds write them.
import { readDay, readMoment } from '#core/moment.ts'

const utc = { zone: 'utc' } as const

/** Unix milliseconds; undefined for what is no time. */
export function sourceMs(value: unknown): number | undefined {
  if (typeof value !== 'string') return undefined
  return readMoment(value, utc) ?? readMoment(`${value}:00`, utc) ?? readDay(value)
}
