// How a page asks the server: the typed client, behind a cache that follows the question and the key it is asked with.
import { keepPreviousData, type UseQueryResult, useQuery } from '@tanstack/react-query'
import type { InputOf, ReplyOf, ResponseMeta } from '#api/client.ts'
import type { AnyId } from '#api/routes.ts'
import { notifyRefused } from './http.ts'
import { isAboutKeys } from './parts/failures.ts'
import { useConsoleContext } from './session.tsx'

export interface QueryReply<R> {
  readonly reply: R
  /** Headers that say what the answer rests on. */
  readonly meta: ResponseMeta | undefined
}

export interface QueryOptions {
  /** False while there is nothing to ask yet. */
  readonly when?: boolean
  readonly everyMs?: number
  /** Show the former answer while a new question is on its way. */
  readonly keepPrevious?: boolean
}

export function useEndpoint<Id extends AnyId>(
  id: Id,
  input: InputOf<Id>,
  { when = true, everyMs, keepPrevious: keep = false }: QueryOptions = {},
): UseQueryResult<QueryReply<ReplyOf<Id>>> {
  const { client, key, known } = useConsoleContext()
  return useQuery({
    queryKey: [id, input, key],
    // Whoever signs in gets a key a moment later.
    enabled: when && (known || key !== ''),
    refetchInterval: everyMs ?? false,
    ...(keep && { placeholderData: keepPreviousData }),
    queryFn: async ({ signal }) => {
      let meta: ResponseMeta | undefined
      const onResponse = (seen: ResponseMeta) => {
        meta = seen
      }
      try {
        return { reply: await client.call(id, input, { signal, onResponse }), meta }
      } catch (error) {
        // Group A refuses a key under status 200.
        if (isAboutKeys(error)) notifyRefused()
        throw error
      }
    },
  })
}
