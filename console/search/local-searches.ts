// Searches in the browser: pages of the console, and the documentation. Loaded with the first search.
import { hrefOf, type PageName } from '../route.ts'
import { loadIndex } from '../shared/load-index.ts'
import { isSimilarWord } from '../shared/similar-words.ts'
import { buildIndex, createSearch, type TextSearch } from '../shared/text-search.ts'
import type { Found } from './api-searches.ts'

/** What people search for, besides the title. */
const pages = [
  ['overview', 'Overview', 'status health readiness coverage streams requests errors'],
  ['explorer', 'Explorer', 'addresses labels entities funding trail chain transactions'],
  ['fx', 'FX', 'quotes exchange rates currencies receipts sign'],
  ['validators', 'Validators', 'pools operators ratings effectiveness rewards penalties compare'],
  ['markets', 'Markets', 'predictions prices outcomes events volume'],
  ['keys', 'Keys', 'API keys plans usage limits revoke rotate'],
] as const satisfies readonly (readonly [Exclude<PageName, 'not-found'>, string, string])[]

const searchPages = createSearch(
  buildIndex(
    pages.map(([path, title]) => ({ path, title, kind: 'guide' })),
    pages.map(([, heading, text], page) => ({ page, anchor: '', heading, excerpt: '', text })),
  ),
)

export function findPages(text: string): Found[] {
  const results = searchPages(text, { allWords: true }).map(({ path, title }) => ({
    kind: 'Page' as const,
    label: title,
    href: hrefOf(path as Exclude<PageName, 'not-found'>),
    detail: 'page of the console',
  }))
  return [{ kind: 'Page', results }]
}

const documentation = new URL('/docs/', window.location.href)
const sectionsMax = 50
let loading: Promise<TextSearch> | undefined

/** Fails if the documentation is not built; the next search tries again. */
export async function findSections(text: string): Promise<Found[]> {
  loading ??= loadIndex(documentation).then(createSearch)
  loading.catch(() => {
    loading = undefined
  })
  const search = await loading
  const options = { max: sectionsMax, allWords: true }
  const sections = search(text, options)
  // A page with many matches shows the best of them.
  const hasMore = search(text, { ...options, perPageMax: sectionsMax }).length > sections.length
  const results = sections.map(({ path, anchor, heading, title }) => ({
    kind: 'Documentation' as const,
    label: heading,
    href: `${documentation.pathname}${path}${anchor === '' ? '' : `#${anchor}`}`,
    detail: heading === title ? undefined : title,
  }))
  return [{ kind: 'Documentation', results, hasMore: hasMore || results.length === sectionsMax }]
}

const wordsOf = (text: string): string[] => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []

/** Enough for few matches, and so few that a typing error is rarely among them. */
const prefixChars = 3

/** A text that finds names similar to this one, among others; undefined: all its words are too short. */
export function similarQuery(text: string): string | undefined {
  const [longest = ''] = wordsOf(text).toSorted((one, other) => other.length - one.length)
  return longest.length > prefixChars ? longest.slice(0, prefixChars) : undefined
}

/** Only the results with a word like each word of the text. */
export function keepSimilar(text: string, { kind, results, total = results.length, hasMore = false }: Found): Found {
  const typed = wordsOf(text)
  const isSimilar = (label: string) => {
    const words = wordsOf(label)
    return typed.every((word) => words.some((other) => other.startsWith(word) || isSimilarWord(other, word)))
  }
  return {
    kind,
    results: results.filter(({ label }) => isSimilar(label)),
    hasMore: hasMore || total > results.length,
  }
}
