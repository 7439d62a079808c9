// A market's changes: the kept ones page by page back in time, and new ones as they happen.
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import type { MarketChange } from '#api/wire/market-changes.ts'
import { useConsoleContext } from '../../session.tsx'

const pageChanges = 500
/** Ten thousand changes are more than anybody reads, and as much as a plot can show. */
const pagesMax = 20
const liveMax = 1000

export function useChanges(slug: string, related: boolean) {
  const { client, key } = useConsoleContext()
  return useInfiniteQuery({
    queryKey: ['markets.changesBySlug', slug, related, key],
    initialPageParam: '',
    queryFn: ({ pageParam, signal }) =>
      client.markets.changesBySlug(
        { slug, related, limit: pageChanges, ...(pageParam !== '' && { cursor: pageParam }) },
        { signal },
      ),
    getNextPageParam: ({ next }, pages) => (pages.length < pagesMax ? next : null),
    placeholderData: keepPreviousData,
    // A stream keeps it up to date, and a second reading would fetch every page again.
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  })
}

export type LiveState = 'off' | 'live' | 'stopped'

export interface Live {
  readonly state: LiveState
  /** Why it stopped. */
  readonly error?: unknown
  /** Newest first. */
  readonly changes: readonly MarketChange[]
}

/** Follows one market after the cursor that is known when it begins. */
export function useLive(slug: string, on: boolean, after: string | undefined): Live {
  const { client } = useConsoleContext()
  const [live, setLive] = useState<Live>({ state: 'off', changes: [] })
  const begin = useRef(after)
  begin.current = after
  useEffect(() => {
    if (!on) return
    const stop = new AbortController()
    const follow = async () => {
      setLive(({ changes }) => ({ state: 'live', changes }))
      const from = begin.current === undefined ? {} : { after: begin.current }
      for await (const change of client.markets.watchChanges({ slugs: [slug], ...from }, { signal: stop.signal })) {
        setLive(({ state, changes }) => ({ state, changes: [change, ...changes].slice(0, liveMax) }))
      }
    }
    follow().catch((error: unknown) => {
      if (!stop.signal.aborted) setLive(({ changes }) => ({ state: 'stopped', error, changes }))
    })
    return () => stop.abort()
  }, [client, slug, on])
  return on ? live : { state: 'off', changes: live.changes }
}
