// Sums of validators over chain hours, in batches that bound the memory of long lists.
import type { Network } from '#api/contract/wire/validators.ts'
import { type ChainHour, type ChainTime, chainDays, type Epoch, epochsOfHour } from '#core/chain-time.ts'
import type { Range } from '#core/ranges.ts'
import type { Duties } from '#storage/duties.ts'
import type { Measure } from '../method/measures.ts'
import { plainTime } from './layout.ts'

const validatorsPerQuery = 1000

export interface HourQuery {
  readonly network: Network
  readonly time: ChainTime
  readonly validators: readonly number[]
  readonly hours: Range
}

/** Entry n of each column belongs to the same validator. Those without rows in these hours are missing. */
export interface HourSums<M extends Measure> {
  readonly validator: Float64Array
  readonly sums: Readonly<Record<M, Float64Array>>
}

/** The measures of each validator, added up over the hours. */
export async function* sumHours<M extends Measure>(
  duties: Duties,
  { network, time, validators, hours }: HourQuery,
  measures: readonly M[],
  signal?: AbortSignal,
): AsyncGenerator<HourSums<M>> {
  const { dayOf } = chainDays(time)
  const lastEpochs = epochsOfHour(time, (hours.until - 1) as ChainHour)
  const days = {
    from: dayOf(epochsOfHour(time, hours.from as ChainHour).from),
    until: dayOf((lastEpochs.until - 1) as Epoch) + 1,
  }
  const query = {
    ...({ network, time: plainTime(time), isUtc: false, grain: 'days', byValidator: true } as const),
    days,
    hourBounds: { hours, wholeDays: { from: 0, until: 0 } },
    windowOfDay: new Array<number>(days.until - days.from).fill(0),
  }
  const sorted = validators.toSorted((a, b) => a - b)
  for (let from = 0; from < sorted.length; from += validatorsPerQuery) {
    const batch = { ...query, validators: sorted.slice(from, from + validatorsPerQuery) }
    const wanted = { measures, scores: [] }
    const { validator, sums } = await duties.query('sumRecords', { query: batch, wanted }, signal)
    yield { validator, sums: sums as Record<M, Float64Array> }
  }
}
