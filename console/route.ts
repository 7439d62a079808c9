// Where the visitor is, kept in the part of the address after `#`: it is never sent to a server, can be kept as a
// bookmark, and the back button works. `/docs` is the one page with a path of its own.
import { useSyncExternalStore } from 'react'

export const pageNames = [
  'overview',
  'explorer',
  'fx',
  'validators',
  'markets',
  'keys',
  'reference',
  'sign-in',
  'nowhere',
] as const
export type PageName = (typeof pageNames)[number]

export interface PageRoute {
  readonly page: PageName
  /** Segments after the page's name. */
  readonly parts: readonly string[]
  readonly query: URLSearchParams
}

const isPage = (name: string): name is PageName => (pageNames as readonly string[]).includes(name)

export function parseRoute(pathname: string, hash: string): PageRoute {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?', 2)
  const words = path.split('/').filter(Boolean).map(decoded)
  const rest = new URLSearchParams(query)
  if (pathname === '/docs') return { page: 'reference', parts: words, query: rest }
  const [first = '', ...parts] = words
  if (first === '') return { page: 'overview', parts, query: rest }
  return isPage(first) ? { page: first, parts, query: rest } : { page: 'nowhere', parts: words, query: rest }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

type Query = Readonly<Record<string, string | number | undefined>>

/** The address of a place, for links. Values that are undefined or empty are left out. */
export function hrefOf(page: PageName, parts: readonly (string | number)[] = [], query: Query = {}): string {
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [[name, String(value)]],
  )
  const tail = given.length > 0 ? `?${new URLSearchParams(given)}` : ''
  const words = page === 'reference' ? parts : [page, ...parts]
  if (page === 'reference' && words.length === 0) return '/docs'
  return `${page === 'reference' ? '/docs' : '/'}#/${words.map((word) => encodeURIComponent(word)).join('/')}${tail}`
}

export function go(page: PageName, parts: readonly (string | number)[] = [], query: Query = {}): void {
  window.location.assign(hrefOf(page, parts, query))
}

function onHashChange(changed: () => void): () => void {
  window.addEventListener('hashchange', changed)
  return () => window.removeEventListener('hashchange', changed)
}

export function useRoute(): PageRoute {
  const hash = useSyncExternalStore(onHashChange, () => window.location.hash)
  return parseRoute(window.location.pathname, hash)
}
