// Loads the stored prices of a market, for the part of its plot before the loaded changes.
import { useQueries } from '@tanstack/preact-query'
import { useMemo } from 'preact/compat'
import type { Market } from '#api/contract/wire/markets.ts'
import { useConsoleContext } from '../../session.tsx'
import { listIn } from './market-values.ts'
import type { PriceHistory } from './older-prices.ts'

/** One history for each outcome; none until all are loaded. */
export function useOlderPrices({ clobTokenIds }: Market, isEnabled: boolean): readonly PriceHistory[] {
  const { client, key } = useConsoleContext()
  const results = useQueries({
    queries: (isEnabled ? listIn(clobTokenIds) : []).map((market) => ({
      queryKey: ['markets.pricesHistory', market, key],
      // Newer prices come from the changes.
      staleTime: Number.POSITIVE_INFINITY,
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        client.markets.pricesHistory({ market, interval: 'max' }, { signal }),
    })),
  })
  const loaded = results.flatMap(({ data }) => (data ? [data.history] : []))
  const isLoaded = loaded.length === results.length
  // biome-ignore lint/correctness/useExhaustiveDependencies: the histories do not change once they are loaded
  return useMemo(() => (isLoaded ? loaded : []), [isLoaded, clobTokenIds, isEnabled])
}
