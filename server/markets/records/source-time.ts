// Parses times of market feeds. A time without a zone is UTC. Zones of whole hours (`+00`) and dates without a time are
// accepted, because feeds use them.
import { parseDay, parseTimestamp } from '#core/parse-timestamp.ts'

const utc = { zone: 'utc' } as const

/** Unix milliseconds; undefined if the value is not a time. */
export function sourceMs(value: unknown): number | undefined {
  if (typeof value !== 'string') return undefined
  return parseTimestamp(value, utc) ?? parseTimestamp(`${value}:00`, utc) ?? parseDay(value)
}
