// The search of the documentation site. The build writes the index; the browser loads it on the first search and ranks
// the sections of all pages.

/** Guides are ranked higher than rules, and rules higher than decisions and lists of pages. */
export type PageKind = 'guide' | 'endpoint' | 'behaviour' | 'decision' | 'list'

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
  'a an and are as at be by can do does for from happen happens how i if in is it its my not of on or our that the then this to was we what when where which who why will with you your'.split(
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
}

/** `rotation`, `rotating` and `rotates` become `rotat`. */
const stemOf = (word: string): string => word.replace(/(?<=.{4})(?:ions?|ings?|ed|es|e|s)$|(?<=.{3})(?<!s)s$/, '')

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

export function buildIndex(
  pages: readonly SearchPage[],
  sections: readonly (SearchSection & { readonly text: string })[],
): SearchIndex {
  const postings = new Map<string, number[]>()
  for (const [at, { heading, text }] of sections.entries()) {
    for (const word of new Set(wordsOf(`${heading} ${text}`))) postings.getOrInsert(word, []).push(at)
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
  guide: 1.3,
  endpoint: 1,
  behaviour: 1,
  decision: 0.6,
  list: 0.5,
}
const weights = { heading: 8, title: 5, excerpt: 4, body: 2 }
/** For a word that only begins with the word of the query. */
const prefixFactor = 0.6
const synonymFactor = 0.7
const resultsMax = 10
const resultsPerPageMax = 3

/** The search finds the best sections first. A section with half of the words of the query counts a quarter. */
export function createSearch({ sections, pages, words }: SearchIndex): (query: string) => SearchResult[] {
  const headingWords = sections.map(({ heading }) => wordsOf(heading))
  const titleWords = pages.map(({ title }) => wordsOf(title))
  const excerptWords = sections.map(({ excerpt }) => wordsOf(excerpt))
  const sectionsByWord = words.split('\n').map((line) => {
    const [word = '', ...steps] = line.split(' ')
    return { word, steps }
  })

  /** Section → how well the word matches it. */
  function match(wanted: string): Map<number, number> {
    const found = new Map<number, number>()
    for (const { word, steps } of sectionsByWord) {
      const quality = matchQuality(word, wanted)
      if (quality === 0) continue
      let at = 0
      for (const step of steps) {
        at += Number.parseInt(step, 36)
        found.set(at, Math.max(found.get(at) ?? 0, quality * weights.body))
      }
    }
    for (const [at, { page }] of sections.entries()) {
      const heading = bestQuality(headingWords[at] ?? [], wanted) * weights.heading
      const title = bestQuality(titleWords[page] ?? [], wanted) * weights.title
      const excerpt = bestQuality(excerptWords[at] ?? [], wanted) * weights.excerpt
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

  /** A heading that consists of the query is the best match. */
  function phraseFactor(at: number, wanted: readonly string[]): number {
    const kind = pages[sections[at]?.page ?? 0]?.kind ?? 'guide'
    const heading = headingWords[at] ?? []
    const isWhole = heading.length === wanted.length && wanted.every((word) => bestQuality(heading, word) > 0)
    return kindWeights[kind] * (isWhole ? 1.5 : 1)
  }

  return (query) => {
    const wanted = queryWords(query)
    const scores = new Map<number, { matched: number; score: number }>()
    for (const word of wanted) {
      const matches = matchAny(word)
      const rarity = Math.log(1 + sections.length / (1 + matches.size))
      for (const [at, quality] of matches) {
        const known = scores.get(at) ?? { matched: 0, score: 0 }
        scores.set(at, { matched: known.matched + 1, score: known.score + rarity * quality })
      }
    }
    const perPage = new Map<number, number>()
    return [...scores]
      .map(([at, { matched, score }]) => ({
        at,
        score: score * (matched / wanted.length) ** 2 * phraseFactor(at, wanted),
      }))
      .sort((one, other) => other.score - one.score || one.at - other.at)
      .flatMap(({ at }) => {
        const section = sections[at] as SearchSection
        const count = perPage.get(section.page) ?? 0
        perPage.set(section.page, count + 1)
        const { path = '', title = '' } = pages[section.page] ?? {}
        return count < resultsPerPageMax ? [{ ...section, path, title }] : []
      })
      .slice(0, resultsMax)
  }
}

/** A name with separators is one word of a query: `x-tetrad-coverage` does not match every page about coverage. */
const queryWords = (query: string): string[] => [
  ...new Set(
    query
      .split(/\s+/)
      .flatMap((part) => wordsOf(part).slice(0, /[._/:-]/.test(part.replace(/[.:/-]+$/, '')) ? 1 : undefined)),
  ),
]

function matchQuality(word: string, wanted: string): number {
  if (word === wanted) return 1
  if (word.startsWith(wanted)) return prefixFactor
  // While a word is typed, it can be longer than the stem: `rotati`.
  return word.length >= 4 && wanted.startsWith(word) && wanted.length - word.length <= 3 ? prefixFactor : 0
}

const bestQuality = (words: readonly string[], wanted: string): number =>
  words.reduce((best, word) => Math.max(best, matchQuality(word, wanted)), 0)
