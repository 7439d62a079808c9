// Loads all validators of a pool or operator page by page, up to the maximum that one request about effectiveness accepts.
import { type UseQueryResult, useQuery } from '@tanstack/preact-query'
import type { Network } from '#api/wire/validators.ts'
import type { EntityKind } from '#api/wire/validators-entities.ts'
import { useConsoleContext } from '../../session.tsx'

export interface Members {
  readonly indices: readonly number[]
  /** There are more than one request accepts. */
  readonly hasMore: boolean
}

const indicesMax = 10_000
const perPage = 1000

/** Without a name, nothing is loaded. */
export function useMembers(network: Network, kind: EntityKind, name = ''): UseQueryResult<Members> {
  const { client, key } = useConsoleContext()
  return useQuery({
    queryKey: ['members', network, kind, name, key],
    enabled: name !== '',
    staleTime: 60_000,
    queryFn: async ({ signal }): Promise<Members> => {
      const indices: number[] = []
      const filter = kind === 'pool' ? { pool: name } : { nodeOperator: name }
      while (indices.length < indicesMax) {
        const after = indices.at(-1)
        const input = { network, ...filter, limit: perPage, ...(after !== undefined && { after }) }
        const { validators, next } = await client.validators.find(input, { signal })
        indices.push(...validators.map(({ validatorIndex }) => validatorIndex))
        if (next === null) return { indices, hasMore: false }
      }
      return { indices, hasMore: true }
    },
  })
}
