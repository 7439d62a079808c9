// Parses times of the command line: `90d`, `12h`, `2027-01-31`, `2027-01-31T18:00:00Z`. Durations count from now,
// forwards or backwards depending on the option.
import { parseDay, parseTimestamp } from '#core/parse-timestamp.ts'
import { UsageFailure } from './failure.ts'

const unitMs: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 }
const yearsMax = 100

/** Parses --expires, which must be in the future. */
export function momentOf(text: string, nowMs: number): number {
  const atMs = parseFutureTime(text, nowMs, '--expires')
  if (atMs > nowMs + yearsMax * 366 * 86_400_000) {
    throw new UsageFailure(
      'expires.far',
      `--expires ${text} is more than ${yearsMax} years away. Leave it out for a key that does not expire.`,
    )
  }
  return atMs
}

export function parseFutureTime(text: string, nowMs: number, flag: string): number {
  const atMs = durationOf(text, nowMs) ?? dateOf(text)
  if (atMs === undefined) {
    throw new UsageFailure(
      'expires.unreadable',
      `${flag} "${text}" is not a time. Write a duration from now (90d, 12h, 30m), a day (2027-01-31) or a time (2027-01-31T18:00:00Z).`,
    )
  }
  if (atMs <= nowMs) throw new UsageFailure('expires.past', `${flag} ${text} is not in the future.`)
  return atMs
}

/** `24h` means 24 hours ago. */
export function parsePastTime(text: string, nowMs: number, flag: string): number {
  const futureMs = durationOf(text, nowMs)
  const atMs = futureMs === undefined ? dateOf(text) : 2 * nowMs - futureMs
  if (atMs !== undefined) return atMs
  throw new UsageFailure(
    'time.unreadable',
    `${flag} "${text}" is not a time. Write a duration before now (24h, 30m), a day (2026-11-15) or a time (2026-11-15T18:00:00Z).`,
  )
}

function durationOf(text: string, nowMs: number): number | undefined {
  const [, count, unit = ''] = /^(\d{1,9})([mhdw])$/.exec(text) ?? []
  return count === undefined ? undefined : nowMs + Number(count) * (unitMs[unit] ?? 0)
}

/** A day means its start in UTC. A time needs a time zone. */
const dateOf = (text: string): number | undefined => parseDay(text) ?? parseTimestamp(text, { zone: 'needed' })
