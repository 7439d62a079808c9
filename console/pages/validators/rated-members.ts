// Validators of a search with their figures of a period. One batch is at most one page of the search and one request for
// figures, so its cost does not grow with the size of a pool.
import type { UseQueryResult } from '@tanstack/preact-query'
import type { InputOf, ReplyOf } from '#api/client/client.ts'
import type { Network } from '#api/contract/wire/validators.ts'
import { useCalls } from '../../use-endpoint.ts'
import { meanPercentile } from './mean-percentile.ts'
import type { RatedMember } from './sort-members.ts'

/** The maximum of both endpoints. */
export const batchSize = 1000

export interface MemberBatch {
  readonly members: readonly RatedMember[]
  /** Validators of the pool on all batches; undefined for other searches. */
  readonly total: number | undefined
  readonly hasMore: boolean
  /** The chain days of the figures; undefined: all days. */
  readonly days: DayRange | undefined
  /** The figures of the whole network on these days. */
  readonly network: ReplyOf<'validators.entities'>['network']
}

interface DayRange {
  readonly first: number
  readonly last: number
}

export type MemberQuery = Omit<InputOf<'validators.find'>, 'network' | 'limit' | 'after'>

export function useRatedMembers(
  network: Network,
  query: MemberQuery,
  period: NonNullable<InputOf<'validators.entities'>['period']>,
  after: number | undefined,
): UseQueryResult<MemberBatch> {
  return useCalls(
    ['rated members', network, query, period, after],
    async ({ client, signal }) => {
      const [found, summary] = await Promise.all([
        client.validators.find(
          { network, ...query, limit: batchSize, ...(after !== undefined && { after }) },
          { signal },
        ),
        client.validators.entities({ network, period, limit: 1 }, { signal }),
      ])
      const { startDay, endDay } = summary
      const days = startDay === null || endDay === null ? undefined : { first: startDay, last: endDay }
      const { data } =
        found.validators.length === 0
          ? { data: [] }
          : await client.validators.aggregateEffectiveness(
              {
                network,
                indices: found.validators.map(({ validatorIndex }) => validatorIndex),
                ...boundsOf(days),
                granularity: 'all',
                size: batchSize,
                include: ['validatorEffectiveness', 'uptime', 'earnings'],
              },
              { signal },
            )
      const records = new Map(data.map((record) => [record.validatorIndex, record]))
      const members = found.validators.map((validator): RatedMember => {
        const record = records.get(validator.validatorIndex)
        return {
          ...validator,
          effectiveness: record?.validatorEffectiveness ?? null,
          uptime: record?.uptime ?? null,
          earnings: record?.earnings === undefined ? null : Number(record.earnings),
        }
      })
      return {
        members,
        total: found.pools[0]?.validators,
        hasMore: found.next !== null,
        days,
        network: summary.network,
      }
    },
    { staleMs: 60_000 },
  )
}

const boundsOf = (days: DayRange | undefined) =>
  days && { from: String(days.last), to: String(days.first), filterType: 'day' as const }

/** By index of a few validators: effectiveness from the first to the last day, and mean percentile in the network. */
export function useDailyFigures(
  network: Network,
  indices: readonly number[],
  { days, network: whole }: Pick<MemberBatch, 'days' | 'network'>,
) {
  return useCalls(
    ['daily figures', network, indices, days],
    async ({ client, signal }) => {
      const { first, last } = days as DayRange
      const lines = new Map(
        indices.map((index) => [index, Array.from({ length: last + 1 - first }, (): number | null => null)]),
      )
      const call = client.validators.aggregateEffectiveness(
        {
          network,
          indices: [...indices],
          ...boundsOf(days),
          granularity: 'day',
          size: batchSize,
          include: ['day', 'validatorEffectiveness'],
        },
        { signal },
      )
      for await (const { validatorIndex = -1, day, validatorEffectiveness } of call.records()) {
        const line = lines.get(validatorIndex)
        if (line && day !== undefined) line[Number(day) - first] = validatorEffectiveness ?? null
      }
      return new Map(
        [...lines].map(([index, values]) => [index, { values, percentile: meanPercentile(values, whole) }]),
      )
    },
    { isEnabled: indices.length > 0 && days !== undefined, staleMs: 60_000 },
  )
}
