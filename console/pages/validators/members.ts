// Loads all validators of a pool page by page, up to the maximum that one request about effectiveness accepts.
import { type UseQueryResult, useQuery } from '@tanstack/react-query'
import type { Network } from '#api/wire/validators.ts'
import { useConsoleContext } from '../../session.tsx'

export interface Members {
  readonly indices: readonly number[]
  /** The size of the pool; larger than `indices` if the pool is too large. */
  readonly total: number
}

const indicesMax = 10_000
const perPage = 1000

export function useMembers(network: Network, pool: string): UseQueryResult<Members> {
  const { client, key } = useConsoleContext()
  return useQuery({
    queryKey: ['members', network, pool, key],
    enabled: pool !== '',
    staleTime: 60_000,
    queryFn: async ({ signal }): Promise<Members> => {
      const indices: number[] = []
      let total = 0
      for (let page = 0; page < indicesMax / perPage; page++) {
        const after = indices.at(-1)
        const input = { network, pool, limit: perPage, ...(after !== undefined && { after }) }
        const { validators, pools, next } = await client.validators.find(input, { signal })
        total = pools[0]?.validators ?? 0
        indices.push(...validators.map(({ validatorIndex }) => validatorIndex))
        if (next === null) break
      }
      return { indices, total }
    },
  })
}
