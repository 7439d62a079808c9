// Searches all interfaces for a text. The results are grouped by kind, with the number of all matches. A search that
// fails is reported: what it would have found is unknown.
import type { UseQueryResult } from '@tanstack/preact-query'
import { useNetworks } from '../pages/validators/use-networks.ts'
import { formatFailure, isNotFound } from '../parts/failures.ts'
import { useConsoleContext } from '../session.tsx'
import { type Calling, useCalls } from '../use-endpoint.ts'
import { type Found, labels, markets, pools, type Search, searchesFor, wordSearches } from './api-searches.ts'
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
  /** No name matches the text. The names in `groups` differ from it by a typing error. */
  readonly isSimilar?: true
}

interface SearchFailure {
  /** What was not searched. */
  readonly names: readonly string[]
  readonly reason: string
}

export function useSearchResults(text: string): UseQueryResult<SearchOutcome> {
  const { chains = [], groups } = useConsoleContext().session
  const networks = useNetworks()
  const isEnabled = ({ group }: Search) => group === undefined || (groups?.[group].enabled ?? true)
  return useCalls(
    ['search', text],
    async (calling: Calling) => {
      const targets = interpretSearch(text)
      const names = searchesFor(calling, targets, chains, networks).filter(isEnabled)
      if (targets.words === undefined) return collect(names, text)
      const { findPages, findSections, keepSimilar, similarQuery } = await import('./local-searches.ts')
      const pages: Search = { name: 'pages', run: async () => findPages(text) }
      const sections: Search = { name: 'documentation', run: () => findSections(text) }
      const found = await collect([pages, ...names, sections], text)
      const isOther = ({ kind }: ResultGroup) => kind !== 'Page' && kind !== 'Documentation'
      const query = similarQuery(text)
      if (query === undefined || found.failures.length > 0 || found.groups.some(isOther)) return found
      const similar = await collect(
        wordSearches(calling, query, networks)
          .filter(isEnabled)
          .map((search) => ({
            ...search,
            run: async () => (await search.run()).map((list) => keepSimilar(text, list)),
          })),
        text,
      )
      if (similar.groups.length === 0) return found
      return { ...similar, groups: [...similar.groups, ...found.groups], isSimilar: true }
    },
    { staleMs: 30_000, keepPrevious: true },
  )
}

async function collect(searches: readonly Search[], text: string): Promise<SearchOutcome> {
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
    groups: exactFirst([...byKind.values()], text),
    failures: [...failed].map(([reason, names]) => ({ names: [...names], reason })),
  }
}

/** A name that is exactly the text comes first, with its group. Documentation comes after everything else. */
export function exactFirst(groups: readonly ResultGroup[], text: string): readonly ResultGroup[] {
  const isExact = ({ label }: SearchResult) => label.toLowerCase() === text.trim().toLowerCase()
  const rankOf = ({ kind, results }: ResultGroup) => (kind === 'Documentation' ? 2 : results.some(isExact) ? 0 : 1)
  return groups
    .map((group) => ({
      ...group,
      results: group.results.toSorted((one, other) => Number(isExact(other)) - Number(isExact(one))),
    }))
    .toSorted((one, other) => rankOf(one) - rankOf(other))
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
