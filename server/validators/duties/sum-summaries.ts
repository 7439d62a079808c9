// Adds up the daily summaries of many pools or operators, and of the whole network, column by column.

import { recordFrom } from '#core/record-from.ts'
import { percentileOf } from '#shared/percentile.ts'
import type { StateReader } from '#storage/state.ts'
import { measures } from '../method/measures.ts'
import type { Score, ScoreTotals } from '../method/method.ts'
import { percentiles, type SummariesQuery, type SummaryRow, selectSummaries, unpackSummary } from './daily-summaries.ts'

export type SummarySums = ReturnType<typeof emptySums>

export interface SummedEntities {
  /** One entry in each column. */
  readonly network: SummarySums
  /** By day: the network's validator scores at `percentiles`; undefined: not known. */
  readonly distribution: readonly (readonly number[] | undefined)[]
  readonly entities: SummarySums
}

/** Well below the limit of both engines on parameters. */
const namesPerQuery = 500

export async function sumSummaries(
  reader: StateReader,
  { network, kind, names, days }: SummariesQuery,
): Promise<SummedEntities> {
  const dayCount = days.until - days.from
  const result = { network: emptySums(1, dayCount), entities: emptySums(names.length, dayCount) }
  const distribution: (readonly number[] | undefined)[] = Array.from({ length: dayCount }, () => undefined)
  for (const row of await selectSummaries(reader, { network, kind: 'network', names: [''], days })) {
    distribution[row.day - days.from] = unpackSummary(row.data).scores.validator?.percentiles
    addRow(result.network, 0, row, days.from, distribution)
  }
  for (let from = 0; from < names.length; from += namesPerQuery) {
    const batch = names.slice(from, from + namesPerQuery)
    const indexOf = new Map(batch.map((name, at) => [name, from + at]))
    for (const row of await selectSummaries(reader, { network, kind, names: batch, days }))
      addRow(result.entities, indexOf.get(row.name) as number, row, days.from, distribution)
  }
  return { ...result, distribution }
}

/** Entry n of each column belongs to name n. */
function emptySums(count: number, dayCount: number) {
  const column = () => new Float64Array(count)
  const totals = (): ScoreTotals => ({ sums: column(), counts: column() })
  return {
    /** Validators on the newest summarized day; 0: no day has a summary. */
    validators: column(),
    /** Sum of the validators of each day. */
    validatorDays: column(),
    sums: recordFrom(measures, column),
    scores: { attester: totals(), proposer: totals(), validator: totals() },
    /** By name and then by day: the mean validator score, NaN if unknown. */
    history: Array.from({ length: count }, () => new Float64Array(dayCount).fill(Number.NaN)),
    /** Mean percentile of the entity's validators in the network: the sum over the days, and the number of days. */
    percentile: totals(),
  }
}

function addRow(
  result: SummarySums,
  at: number,
  { day, validators, data }: SummaryRow,
  firstDay: number,
  distribution: SummedEntities['distribution'],
): void {
  const { sums, scores } = unpackSummary(data)
  const add = (column: Float64Array, value: number) => {
    column[at] = (column[at] as number) + value
  }
  // Rows are in order of days, so the last one is the newest.
  result.validators[at] = validators
  add(result.validatorDays, validators)
  for (const name of measures) add(result.sums[name], sums[name])
  for (const [name, totals] of Object.entries(result.scores) as [Score, ScoreTotals][]) {
    const spread = scores[name]
    if (!spread) continue
    add(totals.sums, spread.mean * spread.validators)
    add(totals.counts, spread.validators)
  }
  const spread = scores.validator
  if (!spread) return
  const history = result.history[at] as Float64Array
  history[day - firstDay] = spread.mean
  const whole = distribution[day - firstDay]
  if (!whole) return
  add(result.percentile.sums, meanPercentile(spread.percentiles, whole))
  add(result.percentile.counts, 1)
}

/** The share of validators that each of `percentiles` represents: up to halfway to its neighbours. */
const weights = percentiles.map((percent, at) => {
  const from = at === 0 ? 0 : ((percentiles[at - 1] as number) + percent) / 2
  const until = at === percentiles.length - 1 ? 100 : (percent + (percentiles[at + 1] as number)) / 2
  return (until - from) / 100
})

/** The mean percentile in the network of the validators that have this distribution of scores. */
const meanPercentile = (scores: readonly number[], whole: readonly number[]): number =>
  scores.reduce((sum, score, at) => sum + (weights[at] as number) * percentileOf(score, percentiles, whole), 0)
