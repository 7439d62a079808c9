// The changes of a market: stored ones page by page, newest first, and new ones from the live stream.
import { keepPreviousData, useInfiniteQuery } from '@tanstack/preact-query'
import { useEffect, useRef, useState } from 'preact/compat'
import type { MarketChange } from '#api/contract/wire/market-changes.ts'
import { useConsoleContext } from '../../session.tsx'

const pageChanges = 500
/** Up to 10 000 changes, which is as much as a plot can show. */
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
    // The stream keeps the list up to date, and a refetch would load every page again.
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  })
}

export interface Live {
  readonly state: 'off' | 'live' | 'stopped'
  /** Why the stream stopped. */
  readonly error?: unknown
  /** Newest first. */
  readonly changes: readonly MarketChange[]
}

/** Streams the changes of a market after the newest known cursor. */
export function useLive(slug: string, isEnabled: boolean, after: string | undefined): Live {
  const { client } = useConsoleContext()
  const [live, setLive] = useState<Live>({ state: 'off', changes: [] })
  const startCursor = useRef(after)
  startCursor.current = after
  useEffect(() => {
    if (!isEnabled) return
    const stop = new AbortController()
    const follow = async () => {
      setLive(({ changes }) => ({ state: 'live', changes }))
      const from = startCursor.current === undefined ? {} : { after: startCursor.current }
      for await (const change of client.markets.watchChanges({ slugs: [slug], ...from }, { signal: stop.signal })) {
        setLive(({ state, changes }) => ({ state, changes: [change, ...changes].slice(0, liveMax) }))
      }
    }
    follow().catch((error: unknown) => {
      if (!stop.signal.aborted) setLive(({ changes }) => ({ state: 'stopped', error, changes }))
    })
    return () => stop.abort()
  }, [client, slug, isEnabled])
  return isEnabled ? live : { state: 'off', changes: live.changes }
}
