// Which metric series a watched validator belongs to. The number of series is bounded: up to `validatorsMax` validators
// have their own series, more are added up by pool and operator. Pairs of these beyond the `pairsMax` largest are called
// `other`.
import { type WatchedDuty, watchedDuties } from '#runtime/watched-duties.ts'
import type { EntityLabels, Series } from '#runtime/watched-metrics.ts'
import { isWithheld, type MissedDuty, missedKinds, wrongHead, wrongTarget } from '../../duties/missed.ts'
import type { ProgrammeState } from './examine-programmes.ts'
import type { WatchedValidator } from './watched-validators.ts'

const validatorsMax = 100
const pairsMax = 100

type Watched = ReadonlyMap<number, WatchedValidator>

/** Returns the series of a validator. Validators of one series get the same object. */
export function assignSeries(watched: Watched): (validator: number) => Series {
  const isAlone = watched.size <= validatorsMax
  const pairOf = (index: number) => JSON.stringify(entityLabels(watched.get(index)))
  const sizes = [...Map.groupBy(watched.keys(), pairOf)].sort(([, a], [, b]) => b.length - a.length)
  const named = new Set(sizes.slice(0, pairsMax).map(([pair]) => pair))
  const series = new Map<string, Series>()
  return (index) => {
    const pair = named.has(pairOf(index)) ? pairOf(index) : JSON.stringify({ pool: 'other', operator: 'other' })
    const validator = isAlone ? String(index) : ''
    const key = isAlone ? validator : pair
    return series.getOrInsertComputed(key, () => ({ ...(JSON.parse(pair) as EntityLabels), validator }))
  }
}

const entityLabels = (validator: WatchedValidator | undefined): EntityLabels => ({
  pool: validator?.pool ?? 'none',
  operator: validator?.operator ?? 'none',
})

/** A problem of a proposed block. It is found by the alerts and not stored with the duties. */
export interface BlockProblem {
  readonly validator: number
  readonly duty: 'wrong_fee_recipient' | 'unknown_relay'
}

type DutyCount = Series & { readonly duty: WatchedDuty; readonly count: number }

/** Missed duties by series, with 0 for those that were not missed. */
export function countMissed(
  watched: Watched,
  missed: readonly MissedDuty[],
  problems: readonly BlockProblem[] = [],
): DutyCount[] {
  const seriesOf = assignSeries(watched)
  const bySeries = new Map<Series, Map<WatchedDuty, number>>()
  for (const index of watched.keys()) bySeries.set(seriesOf(index), new Map())
  const add = (validator: number, name: WatchedDuty, count: number) => {
    const counts = bySeries.get(seriesOf(validator))
    counts?.set(name, (counts.get(name) ?? 0) + count)
  }
  for (const duty of missed) for (const [name, count] of dutiesIn(duty)) add(duty.validator, name, count)
  for (const { validator, duty } of problems) add(validator, duty, 1)
  return [...bySeries].flatMap(([series, counts]) =>
    watchedDuties.map((duty) => ({ ...series, duty, count: counts.get(duty) ?? 0 })),
  )
}

function dutiesIn(duty: MissedDuty): (readonly [WatchedDuty, number])[] {
  const { delay, best_delay, wrong, missing } = duty
  switch (missedKinds[duty.kind]) {
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
    case 'proposal':
      return isWithheld(duty) ? [['withheld_payload', 1]] : []
    default:
      return []
  }
}

/** Watched validators that are not above the thresholds of programmes, by programme, pool and operator. */
export function countBelow(
  watched: Watched,
  programmes: readonly ProgrammeState[],
): (EntityLabels & { readonly programme: string; readonly count: number })[] {
  const groups = [...groupByEntity(watched)]
  return programmes.flatMap(({ programme: { name }, results }) =>
    groups.flatMap(([labels, validators]) => {
      const members = validators.filter(({ index }) => results.has(index))
      const count = members.filter(({ index }) => results.get(index)?.isBelow).length
      return members.length > 0 ? [{ ...labels, programme: name, count }] : []
    }),
  )
}

export const watchedStatuses = ['pending', 'active', 'exiting', 'exited'] as const
type WatchedStatus = (typeof watchedStatuses)[number]

/** Watched validators by pool, operator and status. */
export function countStatuses(
  watched: Watched,
  epoch: number,
): (EntityLabels & { readonly status: WatchedStatus; readonly count: number })[] {
  return [...groupByEntity(watched)].flatMap(([labels, validators]) => {
    const byStatus = Map.groupBy(validators, (validator) => statusAt(validator, epoch))
    return watchedStatuses.map((status) => ({ ...labels, status, count: byStatus.get(status)?.length ?? 0 }))
  })
}

/** Watched validators by pool and operator, as in the series. */
export function groupByEntity(watched: Watched): ReadonlyMap<EntityLabels, readonly WatchedValidator[]> {
  const seriesOf = assignSeries(watched)
  const groups = Map.groupBy(watched.values(), ({ index }) => {
    const { pool, operator } = seriesOf(index)
    return JSON.stringify({ pool, operator })
  })
  return new Map([...groups].map(([labels, validators]) => [JSON.parse(labels) as EntityLabels, validators]))
}

function statusAt({ activationEpoch, exitEpoch }: WatchedValidator, epoch: number): WatchedStatus {
  if (activationEpoch === null || activationEpoch > epoch) return 'pending'
  if (exitEpoch === null) return 'active'
  return exitEpoch > epoch ? 'exiting' : 'exited'
}
