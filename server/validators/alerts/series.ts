// Which metric series a watched validator belongs to. The number of series is bounded: up to `validatorsMax` validators
// have their own series, more are added up by pool, and pools beyond the `poolsMax` largest are called `other`.
import { type Series, type WatchedDuty, watchedDuties } from '#runtime/watched-metrics.ts'
import { type MissedDuty, missedKinds, wrongHead, wrongTarget } from '../duties/missed.ts'
import type { WatchedValidator } from './watched-validators.ts'

const validatorsMax = 100
const poolsMax = 100

type Watched = ReadonlyMap<number, WatchedValidator>

/** Returns the series of a validator. Validators of one series get the same object. */
export function assignSeries(watched: Watched): (validator: number) => Series {
  const isAlone = watched.size <= validatorsMax
  const poolOf = (index: number) => watched.get(index)?.pool ?? 'none'
  const sizes = [...Map.groupBy(watched.keys(), poolOf)].sort(([, a], [, b]) => b.length - a.length)
  const named = new Set(sizes.slice(0, poolsMax).map(([pool]) => pool))
  const series = new Map<string, Series>()
  return (index) => {
    const pool = named.has(poolOf(index)) ? poolOf(index) : 'other'
    const validator = isAlone ? String(index) : ''
    const key = isAlone ? validator : pool
    const own = series.get(key) ?? { pool, validator }
    series.set(key, own)
    return own
  }
}

type DutyCount = Series & { readonly duty: WatchedDuty; readonly count: number }

/** Missed duties by series, with 0 for those that were not missed. */
export function countMissed(watched: Watched, missed: readonly MissedDuty[]): DutyCount[] {
  const seriesOf = assignSeries(watched)
  const bySeries = new Map<Series, Map<WatchedDuty, number>>()
  for (const index of watched.keys()) bySeries.set(seriesOf(index), new Map())
  for (const duty of missed) {
    const counts = bySeries.get(seriesOf(duty.validator))
    for (const [name, count] of dutiesIn(duty)) counts?.set(name, (counts.get(name) ?? 0) + count)
  }
  return [...bySeries].flatMap(([series, counts]) =>
    watchedDuties.map((duty) => ({ ...series, duty, count: counts.get(duty) ?? 0 })),
  )
}

function dutiesIn({ kind, delay, best_delay, wrong, missing }: MissedDuty): (readonly [WatchedDuty, number])[] {
  switch (missedKinds[kind]) {
    case 'vote': {
      if (delay === 0) return [['attestation', 1]]
      const faults: [WatchedDuty, boolean][] = [
        ['late_vote', delay > best_delay],
        ['wrong_target', (wrong & wrongTarget) !== 0],
        ['wrong_head', (wrong & wrongHead) !== 0],
      ]
      return faults.filter(([, is]) => is).map(([name]) => [name, 1] as const)
    }
    case 'noBlock':
      return [['block', 1]]
    case 'emptyBlock':
      return [['empty_block', 1]]
    case 'sync':
      return [['sync_signature', missing]]
    case 'slashed':
      return [['slashed', 1]]
    default:
      return []
  }
}

export const watchedStatuses = ['pending', 'active', 'exiting', 'exited'] as const
type WatchedStatus = (typeof watchedStatuses)[number]

/** Watched validators by pool and status. */
export function countStatuses(
  watched: Watched,
  epoch: number,
): { readonly pool: string; readonly status: WatchedStatus; readonly count: number }[] {
  const seriesOf = assignSeries(watched)
  const pools = Map.groupBy(watched.values(), ({ index }) => seriesOf(index).pool)
  return [...pools].flatMap(([pool, own]) => {
    const byStatus = Map.groupBy(own, (validator) => statusAt(validator, epoch))
    return watchedStatuses.map((status) => ({ pool, status, count: byStatus.get(status)?.length ?? 0 }))
  })
}

function statusAt({ activationEpoch, exitEpoch }: WatchedValidator, epoch: number): WatchedStatus {
  if (activationEpoch === null || activationEpoch > epoch) return 'pending'
  if (exitEpoch === null) return 'active'
  return exitEpoch > epoch ? 'exiting' : 'exited'
}
