// Calls an endpoint with the typed client from a component. Results are cached per endpoint, input and key.
import { keepPreviousData, type UseQueryResult, useQuery } from '@tanstack/preact-query'
import type { InputOf, ReplyOf, ResponseMeta } from '#api/client.ts'
import type { AnyId } from '#api/routes.ts'
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
}

export function useEndpoint<Id extends AnyId>(
  id: Id,
  input: InputOf<Id>,
  { isEnabled = true, refreshMs, keepPrevious = false }: QueryOptions = {},
): UseQueryResult<QueryReply<ReplyOf<Id>>> {
  const { client, key, isReady } = useConsoleContext()
  return useQuery({
    queryKey: [id, input, key],
    // A session gets its key only after the server has confirmed it.
    enabled: isEnabled && (isReady || key !== ''),
    refetchInterval: refreshMs ?? false,
    ...(keepPrevious && { placeholderData: keepPreviousData }),
    queryFn: async ({ signal }) => {
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
    },
  })
}
