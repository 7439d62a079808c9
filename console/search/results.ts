// Searches all interfaces for a text. The results are grouped by kind, with the number of all matches. A search that
// fails is reported: what it would have found is unknown.
import type { UseQueryResult } from '@tanstack/preact-query'
import { formatFailure, isNotFound } from '../parts/failures.ts'
import { useConsoleContext } from '../session.tsx'
import { type Calling, useCalls } from '../use-endpoint.ts'
import { type Found, labels, markets, pools, type Search, searchesFor } from './api-searches.ts'
import { interpretSearch } from './interpret.ts'
import type { ResultKind, SearchResult } from './search-result.ts'

export interface ResultGroup {
  readonly kind: ResultKind
  readonly results: readonly SearchResult[]
  /** Matches, also those that are not in `results`. */
  readonly total: number
  /** There may be more matches than `total`. */
  readonly hasMore: boolean
}

export interface SearchOutcome {
  readonly groups: readonly ResultGroup[]
  readonly failures: readonly SearchFailure[]
}

interface SearchFailure {
  /** What was not searched. */
  readonly names: readonly string[]
  readonly reason: string
}

export function useSearchResults(text: string): UseQueryResult<SearchOutcome> {
  const { chains = [], groups } = useConsoleContext().session
  return useCalls(
    ['search', text],
    async (calling: Calling) => {
      const searches = searchesFor(calling, interpretSearch(text), chains)
      return collect(searches.filter(({ group }) => groups?.[group].enabled ?? true))
    },
    { staleMs: 30_000, keepPrevious: true },
  )
}

async function collect(searches: readonly Search[]): Promise<SearchOutcome> {
  const byKind = new Map<ResultKind, ResultGroup>()
  const failed = new Map<string, Set<string>>()
  const settled = await Promise.allSettled(searches.map(({ run }) => run()))
  for (const [at, outcome] of settled.entries()) {
    if (outcome.status === 'fulfilled') for (const found of outcome.value) addFound(byKind, found)
    else if (!isNotFound(outcome.reason)) {
      const reason = formatFailure(outcome.reason)
      failed.set(reason, (failed.get(reason) ?? new Set()).add(searches[at]?.name ?? ''))
    }
  }
  return {
    groups: [...byKind.values()],
    failures: [...failed].map(([reason, names]) => ({ names: [...names], reason })),
  }
}

function addFound(byKind: Map<ResultKind, ResultGroup>, { kind, results, total, hasMore = false }: Found): void {
  if (results.length === 0) return
  const known = byKind.get(kind)
  byKind.set(kind, {
    kind,
    results: [...(known?.results ?? []), ...results],
    total: (known?.total ?? 0) + (total ?? results.length),
    hasMore: hasMore || known?.hasMore === true,
  })
}

/** Something to open before anything is typed: large pools, labelled addresses and markets. */
export function useSuggestions(): readonly SearchResult[] {
  const { data = [] } = useCalls(
    ['search suggestions'],
    async (calling) => {
      const searches = [
        pools(calling, { kind: 'pool', limit: 2 }),
        // A word that most label lists contain.
        labels(calling, { q: 'exchange', kind: 'entity', limit: 2 }),
        labels(calling, { q: 'exchange', kind: 'address', limit: 2 }),
        markets(calling, { limit: 2 }),
      ]
      const found = await Promise.all(searches.map((search) => search.catch((): Found[] => [])))
      return found.flat().flatMap(({ results }) => results.slice(0, 2))
    },
    { staleMs: 60_000 },
  )
  return data
}
