// The figures of the watched validators in the last 30 days, worst first, with one request for all of them.
import type { UseQueryResult } from '@tanstack/preact-query'
import type { Network } from '#api/contract/wire/networks.ts'
import type { AggregateRecord } from '#api/contract/wire/validators.ts'
import type { ComparedValidator } from '#api/contract/wire/validators-comparison.ts'
import { useCalls } from '../../use-endpoint.ts'

type Figure = 'validatorEffectiveness' | 'earnings' | 'sumMissedAttestations' | 'proposedCount' | 'proposerDutiesCount'
export type WatchedFigures = {
  readonly index: number
  /** Compared with the network. Undefined: not known. */
  readonly compared?: ComparedValidator | undefined
} & Partial<Pick<AggregateRecord, Figure>>

const included = [
  ...(['validatorEffectiveness', 'earnings', 'sumMissedAttestations', 'proposedCount', 'proposerDutiesCount'] as const),
]
const refreshMs = 60_000

export interface WatchedReport {
  readonly validators: readonly WatchedFigures[]
  readonly startDate: string | null
  readonly endDate: string | null
}

export function useWatchedFigures(network: Network, indices: readonly number[]): UseQueryResult<WatchedReport> {
  return useCalls(
    ['watched figures', network, indices],
    async ({ client: { validators }, signal }) => {
      const { startDay, endDay, startDate, endDate } = await validators.entities(
        { network, period: 'month', limit: 1 },
        { signal },
      )
      const days = startDay === null || endDay === null ? {} : { from: String(endDay), to: String(startDay) }
      const { data } = await validators.aggregateEffectiveness(
        {
          ...{ network, indices: [...indices], ...days, filterType: 'day' },
          ...{ granularity: 'all', size: indices.length, include: included },
        },
        { signal },
      )
      const { validators: compared } = await validators.comparison({ network, indices: [...indices] }, { signal })
      const records = new Map(data.map((record) => [record.validatorIndex, record]))
      const comparedOf = new Map(compared.map((one) => [one.validatorIndex, one]))
      const figures = indices.map((index) => ({ ...records.get(index), index, compared: comparedOf.get(index) }))
      return { startDate, endDate, validators: worstFirst(figures) }
    },
    { isEnabled: indices.length > 0, refreshMs, keepPrevious: true },
  )
}

/** Validators without a rating last. */
export const worstFirst = (validators: readonly WatchedFigures[]): WatchedFigures[] =>
  validators.toSorted((a, b) => (a.validatorEffectiveness ?? 101) - (b.validatorEffectiveness ?? 101))

/** Undefined if it is unknown for one of them: unknown is not zero. */
export function sumOf(
  validators: readonly WatchedFigures[],
  figure: 'earnings' | 'sumMissedAttestations' | 'proposedCount' | 'proposerDutiesCount',
): bigint | undefined {
  let sum = 0n
  for (const { [figure]: value } of validators) {
    if (value === undefined) return undefined
    sum += BigInt(value)
  }
  return sum
}
