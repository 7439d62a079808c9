// Figures of watched validators over the last day: the chain hours of one day up to the last complete one. They are
// computed once per chain hour.

import { type ChainTime, type Epoch, hourOf, hoursPerDay } from '#core/chain-time.ts'
import { recordFrom } from '#core/record-from.ts'
import type { DayFigures, Series } from '#runtime/watched-metrics.ts'
import type { Duties } from '#storage/duties.ts'
import { type HourQuery, sumHours } from '../../duties/hour-sums.ts'
import { addScores, scoreMeasures } from '../../method/method.ts'
import { assignSeries } from './series.ts'
import type { WatchedValidator } from './watched-validators.ts'

/** The number of the last chain hour that ends at or before epoch `until`; −1: none. */
export const lastCompleteHour = (time: ChainTime, until: number): number => hourOf(time, until as Epoch) - 1

const dayMeasures = [...scoreMeasures, 'sync_signatures'] as const
type DaySums = Record<(typeof dayMeasures)[number], number>

interface DayQuery extends Pick<HourQuery, 'network' | 'time'> {
  readonly watched: ReadonlyMap<number, WatchedValidator>
  readonly lastHour: number
}

export async function readDayFigures(
  duties: Duties,
  { network, time, watched, lastHour }: DayQuery,
  signal?: AbortSignal,
): Promise<DayFigures[]> {
  const hours = { from: Math.max(0, lastHour + 1 - hoursPerDay(time)), until: lastHour + 1 }
  const query = { network, time, validators: [...watched.keys()], hours }
  const seriesOf = assignSeries(watched)
  const members = new Map<Series, DaySums[]>()
  for await (const { validator, sums } of sumHours(duties, query, dayMeasures, signal)) {
    for (const [at, index] of validator.entries()) {
      const day = recordFrom(dayMeasures, (name) => sums[name][at] as number)
      members.getOrInsertComputed(seriesOf(index), () => []).push(day)
    }
  }
  return Array.from(members, ([series, days]) => toFigures(series, days))
}

/** The effectiveness of a series is the mean over its validators. Each validator's day is one grain (method.ts). */
function toFigures(series: Series, members: readonly DaySums[]): DayFigures {
  const total = (name: keyof DaySums) => members.reduce((sum, sums) => sum + sums[name], 0)
  const grains = recordFrom(scoreMeasures, (name) => Int32Array.from(members, (sums) => sums[name]))
  const newTotals = () => ({ sums: new Float64Array(1), counts: new Float64Array(1) })
  const totals = { attester: newTotals(), proposer: newTotals(), validator: newTotals() }
  addScores(grains, new Int32Array(members.length), totals)
  const [sum = 0, count = 0] = [totals.validator.sums[0], totals.validator.counts[0]]
  return {
    ...series,
    effectiveness: count === 0 ? undefined : sum / count,
    proposerDuties: total('proposer_duties'),
    proposed: total('proposed'),
    syncSignatures: total('sync_signatures'),
  }
}
