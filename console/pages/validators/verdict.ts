// A verdict about a validator in one sentence: its rating, how many days were bad, and how many of them were its fault, as
// far as the stored duties tell (behaviour/validators.md#whose-fault-a-missed-duty-is).
import type { ReplyOf } from '#api/client/client.ts'
import type { ExplainedDay } from '#api/contract/wire/validators-explain.ts'
import { gwei } from '../../parts/format.ts'
import { type Incident, incidentsOfDay } from './incidents.ts'

/** A day is bad below this rating: from the third step of the scale on. */
export const badBelow = 97

/** Whose fault the rating of a day is. `unknown`: the duties of the day are not stored in detail. */
export type DayFault = 'own' | 'partly' | 'others' | 'unknown'

/** The others change at most amounts, but not the rating. */
const ratedKinds: ReadonlySet<Incident['kind']> = new Set([
  ...(['missed', 'late', 'wrongTarget', 'wrongHead', 'noBlock', 'emptyBlock', 'ownPayload'] as const),
])

/** The incidents of a day that lower its rating. */
export const ratedIncidents = (day: Pick<ExplainedDay, 'epochs' | 'proposals'>): Incident[] =>
  incidentsOfDay(day).filter(({ kind }) => ratedKinds.has(kind))

export function faultOfDay(day: Pick<ExplainedDay, 'epochs' | 'epochsKnown' | 'proposals'>): DayFault {
  const incidents = ratedIncidents(day)
  if (!day.epochsKnown || incidents.length === 0) return 'unknown'
  const excused = incidents.filter(({ fault }) => fault === 'none').length
  if (excused === incidents.length) return 'others'
  return excused > 0 || incidents.some(({ fault }) => fault === 'both') ? 'partly' : 'own'
}

export const faultTexts: Readonly<Record<DayFault, string>> = {
  own: 'its fault',
  partly: 'partly its fault',
  others: 'not its fault',
  unknown: 'cause unknown',
}

const words = ['no', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten'] as const
const countText = (count: number): string => words[count] ?? String(count)

export interface Slashing {
  /** UTC date. */
  readonly date: string
  /** What slashings have taken until now. */
  readonly lostGwei: bigint
}

/** In the statement of all days of a validator. Undefined: it was not slashed, as far as the stored days tell. */
export function slashingIn({
  days,
  total,
}: Pick<ReplyOf<'validators.income'>, 'days' | 'total'>): Slashing | undefined {
  const first = days.find(({ slashings }) => Number(slashings) < 0)
  return first && { date: first.date, lostGwei: 0n - BigInt(total.slashings) }
}

interface VerdictInput {
  /** Comes before everything else. */
  readonly slashing?: Slashing | undefined
  /** How many days of the range are bad. */
  readonly badDays: number
  /** More days may be bad: only the worst ones were requested. */
  readonly hasMore: boolean
  /** Of the worst of them. */
  readonly faults: readonly DayFault[]
}

/** `Slashed on 7 November 2026. Lost 1.03 ETH. Three bad days, two not its fault.` */
export function verdictText({ slashing, ...days }: VerdictInput): string {
  const text = daysText(days)
  return `${slashing ? `${slashedText(slashing)} ` : ''}${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`
}

export function slashedText({ date, lostGwei }: Slashing): string {
  const format = { day: 'numeric', month: 'long', year: 'numeric', timeZone: 'UTC' } as const
  const rounded = ((lostGwei + 500_000n) / 1_000_000n) * 1_000_000n
  return `Slashed on ${new Date(date).toLocaleDateString('en-GB', format)}. Lost ${gwei(rounded, 3)}.`
}

function daysText({ badDays, hasMore, faults }: VerdictInput): string {
  const days = `${hasMore ? 'at least ' : ''}${countText(badDays)} bad ${badDays === 1 ? 'day' : 'days'}`
  if (badDays === 0 || faults.length === 0) return days
  const counts = (['own', 'partly', 'others', 'unknown'] as const)
    .map((fault) => ({ text: faultTexts[fault], count: faults.filter((one) => one === fault).length }))
    .filter(({ count }) => count > 0)
  const isPart = faults.length < badDays || hasMore
  const whole = isPart ? `; of the ${countText(faults.length)} worst, ` : ', '
  if (counts.length === 1 && !isPart)
    return `${days}${whole}${badDays === 1 ? '' : badDays === 2 ? 'both ' : 'all '}${counts[0]?.text}`
  return days + whole + counts.map(({ text, count }) => `${countText(count)} ${text}`).join(', ')
}
