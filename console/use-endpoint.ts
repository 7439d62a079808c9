// Calls endpoints with the typed client from a component. Results are cached per input and key.
import { keepPreviousData, type UseQueryResult, useQuery } from '@tanstack/preact-query'
import type { Client, InputOf, ReplyOf, ResponseMeta } from '#api/client/client.ts'
import type { AnyId } from '#api/contract/routes.ts'
import { notifyRefused } from './http.ts'
import { isAboutKeys } from './parts/failures.ts'
import { useConsoleContext } from './session.tsx'

export interface QueryReply<R> {
  readonly reply: R
  /** The confidence headers of the response. */
  readonly meta: ResponseMeta | undefined
}

interface QueryOptions {
  /** False while the input is not complete. */
  readonly isEnabled?: boolean
  readonly refreshMs?: number
  /** Show the previous result while a new one loads. */
  readonly keepPrevious?: boolean
  readonly staleMs?: number
}

/** What a call needs. */
export interface Calling {
  readonly client: Client
  readonly key: string
  readonly signal: AbortSignal
}

/** The result of any number of calls. `queryKey` names them and contains their inputs. */
export function useCalls<T>(
  queryKey: readonly unknown[],
  call: (calling: Calling) => Promise<T>,
  { isEnabled = true, refreshMs, keepPrevious = false, staleMs }: QueryOptions = {},
): UseQueryResult<T> {
  const { client, key, isReady } = useConsoleContext()
  return useQuery({
    queryKey: [...queryKey, key],
    // A session gets its key only after the server has confirmed it.
    enabled: isEnabled && (isReady || key !== ''),
    refetchInterval: refreshMs ?? false,
    // Components pass a result on to others, which read more of it. Otherwise these could miss a change, such as an error.
    notifyOnChangeProps: 'all',
    ...(keepPrevious && { placeholderData: keepPreviousData }),
    ...(staleMs !== undefined && { staleTime: staleMs }),
    queryFn: ({ signal }) => call({ client, key, signal }),
  }) as UseQueryResult<T>
}

export function useEndpoint<Id extends AnyId>(
  id: Id,
  input: InputOf<Id>,
  options: QueryOptions = {},
): UseQueryResult<QueryReply<ReplyOf<Id>>> {
  const call = async ({ client, signal }: Calling) => {
    let meta: ResponseMeta | undefined
    const onResponse = (received: ResponseMeta) => {
      meta = received
    }
    try {
      return { reply: await client.call(id, input, { signal, onResponse }), meta }
    } catch (error) {
      // The explorer interface rejects keys with status 200, so the status alone is not enough.
      if (isAboutKeys(error)) notifyRefused()
      throw error
    }
  }
  return useCalls([id, input], call, options)
}
