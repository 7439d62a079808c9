// A moment as people write it: `90d`, `12h`, `2027-01-31`, `2027-01-31T18:00:00Z`. A length of time counts from now, into
// the future or the past as the command needs it.
import { parseDay, parseTimestamp } from '#core/parse-timestamp.ts'
import { CommandFailure } from './failure.ts'

const unitMs: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 }
const yearsMax = 100

/** It must be in the future. */
export function momentOf(text: string, nowMs: number): number {
  const atMs = durationOf(text, nowMs) ?? dateOf(text)
  if (atMs === undefined) {
    throw new CommandFailure(
      'expires.unreadable',
      `--expires "${text}" is not understood; write 90d, 12h or 30m from now, 2027-01-31, or 2027-01-31T18:00:00Z.`,
    )
  }
  if (atMs <= nowMs) throw new CommandFailure('expires.past', `--expires ${text} is not in the future.`)
  if (atMs > nowMs + yearsMax * 366 * 86_400_000) {
    throw new CommandFailure(
      'expires.far',
      `--expires ${text} is more than ${yearsMax} years away; leave it out for a key that does not expire.`,
    )
  }
  return atMs
}

/** A moment that may be past: `24h` is so long ago. */
export function parsePastTime(text: string, nowMs: number, flag: string): number {
  const ahead = durationOf(text, nowMs)
  const atMs = ahead === undefined ? dateOf(text) : 2 * nowMs - ahead
  if (atMs !== undefined) return atMs
  throw new CommandFailure(
    'time.unreadable',
    `${flag} "${text}" is not understood; write 24h or 30m ago, 2026-11-15, or 2026-11-15T18:00:00Z.`,
  )
}

function durationOf(text: string, nowMs: number): number | undefined {
  const [, count, unit = ''] = /^(\d{1,9})([mhdw])$/.exec(text) ?? []
  return count === undefined ? undefined : nowMs + Number(count) * (unitMs[unit] ?? 0)
}

/** A date means its first moment, UTC; a time must say its zone. */
const dateOf = (text: string): number | undefined => parseDay(text) ?? parseTimestamp(text, { zone: 'needed' })
