// Sums of validators over chain hours, in batches that bound the memory of long watch lists.
import type { Network } from '#api/wire/validators.ts'
import { type ChainHour, type ChainTime, chainDays, epochsOfHour } from '#core/chain-time.ts'
import type { Range } from '#core/ranges.ts'
import type { Duties } from '#storage/duties.ts'
import { plainTime } from '../duties/layout.ts'
import { queryDuties } from '../duties/store.ts'
import type { Measure } from '../ratings/measures.ts'

const validatorsPerQuery = 1000

export interface HourQuery {
  readonly network: Network
  readonly time: ChainTime
  readonly validators: readonly number[]
  readonly hours: Range
}

/** By validator: the measures, added up over the hours. */
export async function sumHours<M extends Measure>(
  duties: Duties,
  { network, time, validators, hours }: HourQuery,
  measures: readonly M[],
  signal?: AbortSignal,
): Promise<Map<number, Record<M, number>>> {
  const days = chainDays(time)
  const first = epochsOfHour(time, hours.from as ChainHour).from
  const last = epochsOfHour(time, (hours.until - 1) as ChainHour)
  const query = {
    ...({ network, time: plainTime(time), isUtc: false, grain: 'hours', windowOf: [], byValidator: true } as const),
    days: { from: days.dayOf(first), until: days.dayOf((last.until - 1) as typeof first) + 1 },
  }
  const zeros = () => Object.fromEntries(measures.map((name) => [name, 0])) as Record<M, number>
  const totals = new Map<number, Record<M, number>>()
  const sorted = [...validators].sort((a, b) => a - b)
  for (let from = 0; from < sorted.length; from += validatorsPerQuery) {
    const batch = sorted.slice(from, from + validatorsPerQuery)
    const wanted = { measures, scores: [] }
    const records = await queryDuties(duties, 'sumRecords', { query: { ...query, validators: batch }, wanted }, signal)
    for (const [at, hour] of records.hour.entries()) {
      if (hour < hours.from || hour >= hours.until) continue
      const total = totals.getOrInsertComputed(records.validator[at] as number, zeros)
      for (const name of measures) total[name] += records.sums[name]?.[at] as number
    }
  }
  return totals
}
