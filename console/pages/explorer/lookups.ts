// Calls of the entity and transaction pages. They need an API key instead of a session.
import { type UseQueryResult, useQuery } from '@tanstack/preact-query'
import type { EntityView, TransactionView } from '#api/console.ts'
import { callConsole } from '../../operator.ts'
import { useConsoleContext } from '../../session.tsx'

export const fetchTransaction = (hash: string, key: string): Promise<TransactionView> =>
  callConsole('GET', `explorer/transactions/${encodeURIComponent(hash)}?${new URLSearchParams({ apikey: key })}`)

const fetchEntity = (slug: string, key: string): Promise<EntityView> =>
  callConsole('GET', `explorer/entities/${encodeURIComponent(slug)}?${new URLSearchParams({ apikey: key })}`)

function useLookup<T>(name: string, id: string, fetch: (id: string, key: string) => Promise<T>): UseQueryResult<T> {
  const { key, isReady } = useConsoleContext()
  return useQuery({
    queryKey: [name, id, key],
    // A session gets its key only after the server has confirmed it.
    enabled: isReady || key !== '',
    queryFn: () => fetch(id, key),
  })
}

export const useEntity = (slug: string): UseQueryResult<EntityView> => useLookup('entity', slug, fetchEntity)

export const useTransaction = (hash: string): UseQueryResult<TransactionView> =>
  useLookup('transaction', hash, fetchTransaction)
