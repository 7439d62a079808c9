// Compares validators with all validators of their network, day by day (behaviour/validators.md#comparison-with-the-network).
// All figures are fractions of whole numbers, so that a threshold is compared exactly.
//
// 1. Only days count whose summary covers the whole day and has the present method. Other days of the period are partial.
// 2. A score has eight decimals, as in the summaries.
import type { Network } from '#api/contract/wire/validators.ts'
import type { ComparedFigure } from '#api/contract/wire/validators-comparison.ts'
import type { ChainTime } from '#core/chain-time.ts'
import type { Range } from '#core/ranges.ts'
import { recordFrom } from '#core/record-from.ts'
import { percentileOf } from '#shared/percentile.ts'
import type { ValidatorsContext } from '../../context.ts'
import { type DaySummary, percentiles } from '../../duties/daily-summaries.ts'
import { networkId, plainTime, validatorsMax } from '../../duties/layout.ts'
import { methodNumber, type Score } from '../../method/method.ts'

/** `below` 0: there is no value. */
export interface Fraction {
  readonly above: bigint
  readonly below: bigint
}

/** In points: 0 to 100. */
export type ComparedFigures = Readonly<Record<ComparedFigure, Fraction>>

interface NetworkDay {
  readonly figures: ComparedFigures
  readonly percentiles: Readonly<Partial<Record<Score, readonly number[]>>>
}

interface ValidatorDay {
  readonly day: number
  readonly figures: ComparedFigures
  readonly scores: Readonly<Record<ComparedScore, number | undefined>>
}

export interface Comparison {
  /** The last days of the network, as many as were requested. Undefined: no day has a summary yet. */
  readonly days: Range | undefined
  /** Summaries of complete days. */
  readonly network: ReadonlyMap<number, NetworkDay>
  /** By validator: the complete days in which it had duties. */
  readonly validators: ReadonlyMap<number, readonly ValidatorDay[]>
}

const scoreOf = { attesterEffectiveness: 'attester', validatorEffectiveness: 'validator' } as const
export type ComparedScore = keyof typeof scoreOf
const comparedScores = Object.keys(scoreOf) as ComparedScore[]

const scale = 1e8
const none: Fraction = { above: 0n, below: 0n }
const scaled = (score: number): bigint => BigInt(Math.round(score * scale))
const percent = (above: number, below: number): Fraction => ({ above: 100n * BigInt(above), below: BigInt(below) })
const meanOf = (score: number, count: number): Fraction => ({
  above: scaled(score) * BigInt(count),
  below: BigInt(count) * BigInt(scale),
})

type ReadContext = Pick<ValidatorsContext, 'duties'>

export async function readComparison(
  { duties }: ReadContext,
  network: Network,
  time: ChainTime,
  {
    validators,
    days: count,
    signal,
  }: {
    readonly validators: readonly number[]
    readonly days: number
    readonly signal?: AbortSignal | undefined
  },
): Promise<Comparison> {
  const newest = await duties.get<{ day: number | null }>(
    'select max(day) as day from duty_summaries where network = ? and kind = 0',
    networkId(network),
  )
  if (newest?.day == null) return { days: undefined, network: new Map(), validators: new Map() }
  const days = { from: Math.max(0, newest.day + 1 - count), until: newest.day + 1 }
  const query = {
    ...({ network, time: plainTime(time), isUtc: false, days, grain: 'days', byValidator: true } as const),
    windowOfDay: Array.from({ length: days.until - days.from }, (_, at) => days.from + at),
    validators: validators.filter((index) => index < validatorsMax).sort((a, b) => a - b),
  }
  const wanted = { measures: ['assigned', 'included'], scores: ['attester', 'validator'] } as const
  const [summaries, records] = await Promise.all([
    duties.query('readSummaries', { network, kind: 'network', names: [''], days }, signal),
    duties.query('sumRecords', { query, wanted }, signal),
  ])
  const complete = new Map(
    summaries.filter((summary) => isComplete(summary, time)).map((summary) => [summary.day, toNetworkDay(summary)]),
  )
  const byValidator = new Map<number, ValidatorDay[]>()
  for (const [at, day] of records.window.entries()) {
    if (!complete.has(day)) continue
    const scores = recordFrom(comparedScores, (name) => {
      const totals = records.scores[scoreOf[name]]
      return totals?.counts[at] === 1 ? Math.round((totals.sums[at] as number) * scale) / scale : undefined
    })
    const figures = {
      uptime: percent(records.sums.included?.[at] as number, records.sums.assigned?.[at] as number),
      ...recordFrom(comparedScores, (name) => (scores[name] === undefined ? none : meanOf(scores[name], 1))),
    }
    byValidator.getOrInsertComputed(records.validator[at] as number, () => []).push({ day, figures, scores })
  }
  return { days, network: complete, validators: byValidator }
}

export const isComplete = ({ epochs, method }: DaySummary, { epochsPerDay }: ChainTime): boolean =>
  epochs === epochsPerDay && method === methodNumber

const toNetworkDay = ({ sums, scores }: DaySummary): NetworkDay => ({
  figures: {
    uptime: percent(sums.included, sums.assigned),
    ...recordFrom(comparedScores, (name) => {
      const spread = scores[scoreOf[name]]
      return spread ? meanOf(spread.mean, spread.validators) : none
    }),
  },
  percentiles: Object.fromEntries(Object.entries(scores).map(([name, spread]) => [name, spread.percentiles])),
})

/** Uptime: ratio of sums. Scores: mean over validators and days. */
export const totalOf = (days: Iterable<{ readonly figures: ComparedFigures }>, name: ComparedFigure): Fraction =>
  Iterator.from(days).reduce<Fraction>(
    (total, { figures }) => ({
      above: total.above + figures[name].above,
      below: total.below + figures[name].below,
    }),
    none,
  )

/** The mean over the days of the validator's percentile in the network, interpolated between those that are stored. */
export function meanPercentile(
  { network }: Comparison,
  days: readonly ValidatorDay[],
  name: ComparedScore,
): number | null {
  const known = days.flatMap(({ day, scores }) => {
    const whole = network.get(day)?.percentiles[scoreOf[name]]
    return whole && scores[name] !== undefined ? [percentileOf(scores[name], percentiles, whole)] : []
  })
  return known.length === 0 ? null : Math.round((1e6 * known.reduce((sum, one) => sum + one, 0)) / known.length) / 1e6
}

const decimals = 10n ** 10n

/** Rounds half up to ten decimals. Null: there is no value. */
export function toNumber({ above, below }: Fraction): number | null {
  if (below === 0n) return null
  const doubled = 2n * above * decimals + below
  const floor = doubled >= 0n ? doubled / (2n * below) : -((-doubled + 2n * below - 1n) / (2n * below))
  return Number(floor) / Number(decimals)
}

export const difference = (a: Fraction, b: Fraction): Fraction => ({
  above: a.above * b.below - b.above * a.below,
  below: a.below * b.below,
})
