// Full-text search in the browser: the documentation site and the console's search use it. The build writes the index;
// the browser loads it on the first search and ranks the sections of all pages. A word that is in no section finds words
// that differ only by a typing error.
//
// MiniSearch ranks as well: with the same synonyms, the right page was first for 22 of 40 queries that neither was made
// for, and here for 21. But its index of the documentation has 142 kB compressed, and this one 112 kB.
import { isSimilarWord } from './similar-words.ts'

/** Guides are ranked higher than reference and rules, and these higher than decisions and lists of pages. */
export type PageKind = 'guide' | 'reference' | 'behaviour' | 'decision' | 'list'

export interface SearchPage {
  readonly path: string
  readonly title: string
  readonly kind: PageKind
}

export interface SearchSection {
  /** Position in `pages`. */
  readonly page: number
  /** Empty for the beginning of a page. */
  readonly anchor: string
  readonly heading: string
  readonly excerpt: string
}

export interface SearchIndex {
  readonly pages: readonly SearchPage[]
  readonly sections: readonly SearchSection[]
  /** One line per word: the word, a space, and the sections that contain it as differences in base 36. */
  readonly words: string
}

export interface SearchResult extends SearchSection {
  readonly path: string
  readonly title: string
}

const stopWords = new Set(
  'a an and are as at be by can cannot did do does for from get gets happen happens has have how i if in is it its many mean means much my need needed needs not of on or our should that the then there this to too was we what when where which who why will with work works you your'.split(
    ' ',
  ),
)

/** What people search for, and the words that the pages use. */
const synonyms: Readonly<Record<string, string>> = {
  lie: 'wrong trust disagree contradict',
  lying: 'wrong trust disagree contradict',
  calculate: 'compute score method',
  compute: 'score method formula',
  refused: 'invalid rejected 403 429',
  blocked: 'refused throttled 429',
  docker: 'container',
  delete: 'retention remove',
  restore: 'backup',
  price: 'rate',
  letsencrypt: 'proxy tls https',
  https: 'proxy tls',
  tls: 'proxy https',
  kubernetes: 'container',
  disable: 'enabled',
  nginx: 'proxy',
  caddy: 'proxy',
  reverse: 'proxy',
  setup: 'install',
  certificate: 'proxy tls https',
  ssl: 'proxy tls https',
  slashing: 'slashed',
  websocket: 'stream events',
  wallet: 'address account',
  eth: 'coins',
  cex: 'exchange',
  upload: 'import',
  download: 'export',
  ram: 'memory',
  apy: 'rewards income',
  tax: 'income',
  password: 'sign-in key',
  telegram: 'webhook alerts',
  discord: 'webhook alerts',
  unauthorized: '401 key',
  forbidden: '403 plan',
}

/** What people read elsewhere, whose words alone mean something else. */
const phrases: readonly (readonly [RegExp, string])[] = [[/too many requests/gi, '429 throttled']]

/** `rotation`, `rotating` and `rotates` become `rotat`. */
const stemOf = (word: string): string =>
  unstemmed.has(word) ? word : word.replace(/(?<=.{4})(?:ions?|ings?|ed|es|e|s)$|(?<=.{3})(?<!s)s$/, '')

/** Not plurals. */
const unstemmed = new Set(['cors', 'redis', 'https'])

/** The words of a text. A name such as `x-tetrad-coverage` counts as a whole and by its parts. */
export function wordsOf(text: string): string[] {
  const names = text.toLowerCase().match(/[\p{L}\p{N}]+(?:[._/:-]+[\p{L}\p{N}]+)*/gu) ?? []
  return names.flatMap((name) => {
    const parts = name.split(/[._/:-]+/)
    const words = parts.filter((part) => part.length <= longestWord && !stopWords.has(part)).map(stemOf)
    return parts.length > 1 && name.length <= longestWord ? [name, ...words] : words
  })
}

const longestWord = 40

/** By stem. */
const synonymsOf: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries(synonyms).map(([word, others]) => [stemOf(word), wordsOf(others)]),
)

/** The name of the page's file: people search for it too. */
const nameOf = (page: SearchPage | undefined): string => /([^/]*)\.html$/.exec(page?.path ?? '')?.[1] ?? ''

export function buildIndex(
  pages: readonly SearchPage[],
  sections: readonly (SearchSection & { readonly text: string })[],
): SearchIndex {
  const postings = new Map<string, number[]>()
  for (const [at, { page, anchor, heading, text }] of sections.entries()) {
    const name = anchor === '' ? nameOf(pages[page]) : ''
    for (const word of new Set(wordsOf(`${name} ${heading} ${text}`))) postings.getOrInsert(word, []).push(at)
  }
  const lines = [...postings]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([word, list]) => `${word} ${list.map((at, i) => (at - (list[i - 1] ?? 0)).toString(36)).join(' ')}`)
  return {
    pages,
    sections: sections.map(({ page, anchor, heading, excerpt }) => ({ page, anchor, heading, excerpt })),
    words: lines.join('\n'),
  }
}

const kindWeights: Readonly<Record<PageKind, number>> = {
  guide: 1.4,
  reference: 0.9,
  behaviour: 0.8,
  decision: 0.6,
  list: 0.5,
}
const weights = { heading: 8, title: 5, excerpt: 4, body: 2, page: 2 }
/** For a word of the query that only other sections of the page have. */
const elsewhereFactor = 0.5
/** For a word that only begins with the word of the query. */
const prefixFactor = 0.6
/** For a word that is longer than the stem, while it is typed: `rotati`. */
const longerFactor = 0.3
/** A heading of more sections, such as "Settings", describes none of them. */
const headingRepeatsMax = 3
const typoFactor = 0.5
const synonymFactor = 0.7
const resultsMax = 10
const resultsPerPageMax = 3

export interface SearchOptions {
  readonly max?: number
  readonly perPageMax?: number
  /** Without sections that have only some of the words. */
  readonly allWords?: boolean
}

export type TextSearch = (query: string, options?: SearchOptions) => SearchResult[]

/** The search finds the best sections first. A section with half of the words of the query counts a quarter. */
export function createSearch({ sections, pages, words }: SearchIndex): TextSearch {
  const headingWords = sections.map(({ heading }) => wordsOf(heading))
  const titleWords = pages.map((page) => wordsOf(`${nameOf(page)} ${page.title}`))
  const excerptWords = sections.map(({ excerpt }) => wordsOf(excerpt))
  const headingCounts = new Map<string, number>()
  for (const { heading } of sections) headingCounts.set(heading, (headingCounts.get(heading) ?? 0) + 1)
  const isCommon = (at: number) => (headingCounts.get(sections[at]?.heading ?? '') ?? 0) > headingRepeatsMax
  const sectionsByWord = words.split('\n').map((line) => {
    const [word = '', ...steps] = line.split(' ')
    return { word, steps }
  })

  /** All words that begin like the wanted one, or else those that are similar. */
  function qualitiesFor(wanted: string): ReadonlyMap<string, number> {
    const qualities = new Map<string, number>()
    for (const { word } of sectionsByWord) {
      const quality = matchQuality(word, wanted)
      if (quality > 0) qualities.set(word, quality)
    }
    if ([...qualities.values()].some((quality) => quality >= prefixFactor)) return qualities
    for (const { word } of sectionsByWord) if (isSimilarWord(word, wanted)) qualities.set(word, typoFactor)
    return qualities
  }

  /** Section → how well the word matches it. */
  function match(wanted: string): Map<number, number> {
    const found = new Map<number, number>()
    const qualities = qualitiesFor(wanted)
    const bestQuality = (list: readonly string[]): number =>
      list.reduce((best, word) => Math.max(best, qualities.get(word) ?? 0), 0)
    for (const { word, steps } of sectionsByWord) {
      const quality = qualities.get(word) ?? 0
      if (quality === 0) continue
      let at = 0
      for (const step of steps) {
        at += Number.parseInt(step, 36)
        found.set(at, Math.max(found.get(at) ?? 0, quality * weights.body))
      }
    }
    for (const [at, { page }] of sections.entries()) {
      const heading = bestQuality(headingWords[at] ?? []) * (isCommon(at) ? weights.body : weights.heading)
      const title = bestQuality(titleWords[page] ?? []) * weights.title
      const excerpt = bestQuality(excerptWords[at] ?? []) * weights.excerpt
      const best = Math.max(heading, title, excerpt, found.get(at) ?? 0)
      if (best > 0) found.set(at, best)
    }
    return found
  }

  /** The same for the word and its synonyms. */
  function matchAny(wanted: string): Map<number, number> {
    const found = match(wanted)
    for (const synonym of synonymsOf.get(wanted) ?? []) {
      for (const [at, quality] of match(synonym)) found.set(at, Math.max(found.get(at) ?? 0, quality * synonymFactor))
    }
    return found
  }

  /** Page → how much of it is about a word: near 1 if many of its sections have the word. */
  function sharesOfPages(matches: ReadonlyMap<number, number>): ReadonlyMap<number, number> {
    const counts = new Map<number, number>()
    for (const at of matches.keys()) {
      const page = sections[at]?.page ?? 0
      counts.set(page, (counts.get(page) ?? 0) + 1)
    }
    return new Map([...counts].map(([page, count]) => [page, count / (count + 2)]))
  }

  /** A heading that consists of the query is the best match, first that of a page. */
  function headingFactor(at: number, wanted: readonly string[]): number {
    const { page = 0, anchor = '' } = sections[at] ?? {}
    const heading = anchor === '' ? (headingWords[at] ?? []) : queryWords(sections[at]?.heading ?? '')
    const begins = (word: string) => heading.some((other) => other.startsWith(word) || isSimilarWord(other, word))
    if (heading.length === 0 || !wanted.every(begins)) return kindWeights[pages[page]?.kind ?? 'guide']
    const share = Math.min(1, wanted.length / heading.length)
    return kindWeights[pages[page]?.kind ?? 'guide'] * (1 + share * (anchor === '' ? 1.6 : 0.5))
  }

  return (query, { max = resultsMax, perPageMax = resultsPerPageMax, allWords = false } = {}) => {
    const text = phrases.reduce((text, [phrase, words]) => text.replace(phrase, words), query)
    const wanted = queryWords(text, (name) => qualitiesFor(name).size > 0)
    const scores = new Map<number, { found: number; matched: number; score: number }>()
    for (const word of wanted) {
      const matches = matchAny(word)
      const rarity = Math.log(1 + sections.length / (1 + matches.size))
      const pageShares = sharesOfPages(matches)
      for (const [at, { page }] of sections.entries()) {
        const share = pageShares.get(page)
        if (share === undefined) continue
        const quality = matches.get(at)
        const known = scores.get(at) ?? { found: 0, matched: 0, score: 0 }
        scores.set(at, {
          found: known.found + (quality === undefined ? 0 : 1),
          matched: known.matched + (quality === undefined ? share * elsewhereFactor : 1),
          score: known.score + rarity * ((quality ?? 0) + share * weights.page),
        })
      }
    }
    const perPage = new Map<number, number>()
    return [...scores]
      .filter(([, { found }]) => found > 0 && (!allWords || found === wanted.length))
      .map(([at, { matched, score }]) => ({
        at,
        score: score * (matched / wanted.length) ** 2 * headingFactor(at, wanted),
      }))
      .sort((one, other) => other.score - one.score || one.at - other.at)
      .flatMap(({ at }) => {
        const section = sections[at] as SearchSection
        const count = perPage.get(section.page) ?? 0
        perPage.set(section.page, count + 1)
        const { path = '', title = '' } = pages[section.page] ?? {}
        return count < perPageMax ? [{ ...section, path, title }] : []
      })
      .slice(0, max)
  }
}

/**
 * A name with separators is one word of a query: `x-tetrad-coverage` does not match every page about coverage. If no page
 * has the name, its parts are the words: `rate-limit`.
 */
const queryWords = (query: string, isKnown: (name: string) => boolean = () => true): string[] => [
  ...new Set(
    query.split(/\s+/).flatMap((part) => {
      const words = wordsOf(part)
      const [name = '', ...parts] = words
      if (!/[._/:-]/.test(name)) return words
      return isKnown(name) ? [name] : parts
    }),
  ),
]

function matchQuality(word: string, wanted: string): number {
  if (word === wanted) return 1
  if (word.startsWith(wanted)) return prefixFactor
  return word.length >= 4 && wanted.startsWith(word) && wanted.length - word.length <= 3 ? longerFactor : 0
}
