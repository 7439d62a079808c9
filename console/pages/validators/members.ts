// The validators of a pool, all of them: page by page, up to as many as one question about effectiveness may name.
import { type UseQueryResult, useQuery } from '@tanstack/react-query'
import type { Network } from '#api/wire/validators.ts'
import { useConsoleContext } from '../../session.tsx'

export interface Members {
  readonly indices: readonly number[]
  /** How many there are; more than are named when the pool is too large. */
  readonly total: number
}

const namedMax = 10_000
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
      for (let page = 0; page < namedMax / perPage; page++) {
        const after = indices.at(-1)
        const question = { network, pool, limit: perPage, ...(after !== undefined && { after }) }
        const { validators, pools, next } = await client.validators.find(question, { signal })
        total = pools[0]?.validators ?? 0
        indices.push(...validators.map(({ validatorIndex }) => validatorIndex))
        if (next === null) break
      }
      return { indices, total }
    },
  })
}
