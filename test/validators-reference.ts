// A simple reference for the endpoints of group C: computes ratings over every single epoch, without a database and
// with its own calendar.
import type { ChainTime } from '#core/chain-time.ts'
import type { Measure } from '#validators/method/measures.ts'

export type Row = { epoch: number; validator: number } & Record<Measure, number>

export type Granularity = 'hour' | 'day' | 'week' | 'month' | 'quarter' | 'year' | 'all'

const epochStart = (time: ChainTime, epoch: number): Date =>
  new Date((time.genesisUnix + epoch * time.slotSeconds * time.slotsPerEpoch) * 1000)
const dateOf = (moment: Date): string => moment.toISOString().slice(0, 10)

export function dayOf(time: ChainTime, utc: boolean, epoch: number): number {
  if (!utc) return Math.floor(epoch / time.epochsPerDay)
  const [date, genesis] = [dateOf(epochStart(time, epoch)), dateOf(epochStart(time, 0))]
  return Math.round((Date.parse(date) - Date.parse(genesis)) / 86_400_000)
}

/** A text that identifies the window. Texts sort by time. */
export function windowOf(time: ChainTime, utc: boolean, granularity: Granularity, epoch: number): string {
  const day = dayOf(time, utc, epoch)
  const dayText = String(day).padStart(6, '0')
  const start = utc ? epochStart(time, epoch) : epochStart(time, day * time.epochsPerDay)
  const monday = new Date(start)
  while (monday.getUTCDay() !== 1) monday.setUTCDate(monday.getUTCDate() - 1)
  switch (granularity) {
    case 'hour':
      return `${dayText} ${String(Math.floor(epoch / time.epochsPerHour)).padStart(6, '0')}`
    case 'day':
      return dayText
    case 'week':
      return dateOf(monday)
    case 'month':
      return dateOf(start).slice(0, 7)
    case 'quarter':
      return `${start.getUTCFullYear()} ${Math.floor(start.getUTCMonth() / 3)}`
    case 'year':
      return String(start.getUTCFullYear())
    case 'all':
      return ''
  }
}

export const sum = (rows: readonly Row[], of: (row: Row) => number): number =>
  rows.reduce((total, row) => total + of(row), 0)
/** Groups in the order of their keys. */
export const groupBy = (rows: readonly Row[], of: (row: Row) => string): Row[][] =>
  [...Map.groupBy(rows, of)].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, group]) => group)
const mean = (values: readonly (number | null)[]): number | null => {
  const known = values.filter((value) => value !== null)
  return known.length === 0 ? null : known.reduce((total, value) => total + value, 0) / known.length
}
const correct = (row: Row): number => row.correct_head + row.correct_target + row.correct_source

/** Method 1, step by step as in docs/methodology.md. */
function rate(rows: readonly Row[]) {
  const [assigned, unique] = [sum(rows, (row) => row.assigned), sum(rows, (row) => row.included)]
  const [delays, duties] = [sum(rows, (row) => row.inclusion_delay), sum(rows, (row) => row.proposer_duties)]
  const uptime = assigned === 0 ? null : unique / assigned
  const correctness = unique === 0 ? null : sum(rows, correct) / (3 * unique)
  const delay = unique === 0 ? null : delays / unique
  const attester =
    uptime === null ? null : correctness === null || delay === null ? 0 : (100 * uptime * correctness) / delay
  const empty = sum(rows, (row) => row.proposed_empty)
  const score = sum(rows, (row) => row.proposed) - empty + 0.25 * empty
  const proposer = duties === 0 ? null : (100 * score) / duties
  const validator = proposer === null || attester === null ? attester : (3 / 8) * proposer + (5 / 8) * attester
  return { uptime, correctness, delay, attester, proposer, validator }
}

/** Means over validators and days (or hours); ratios of sums. */
export function figuresOf(time: ChainTime, utc: boolean, granularity: Granularity, rows: readonly Row[]) {
  const grain = granularity === 'hour' ? 'hour' : 'day'
  const grains = groupBy(rows, (row) => `${row.validator} ${windowOf(time, utc, grain, row.epoch)}`).map(rate)
  const { uptime, correctness, delay } = rate(rows)
  return {
    attesterEffectiveness: mean(grains.map(({ attester }) => attester)),
    proposerEffectiveness: mean(grains.map(({ proposer }) => proposer)),
    validatorEffectiveness: mean(grains.map(({ validator }) => validator)),
    avgCorrectness: correctness,
    avgInclusionDelay: delay,
    uptime,
  }
}
