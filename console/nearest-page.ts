// The page that somebody probably meant who mistyped its address.
import { hrefOf, isPagePath, type PageRoute, pageNames } from './route.ts'
import { isSimilarWord } from './shared/similar-words.ts'

/** Its address; undefined: no page has a similar name. */
export function findNearestPage({ parts: [first = '', ...rest], query }: Pick<PageRoute, 'parts' | 'query'>) {
  const page = pageNames.find((name) => isSimilarWord(hrefOf(name).slice(1), first.toLowerCase()))
  if (page === undefined) return undefined
  const whole = hrefOf(page, rest)
  if (!isPagePath(whole)) return hrefOf(page)
  return query.size > 0 ? `${whole}?${query}` : whole
}
