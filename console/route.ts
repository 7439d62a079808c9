// The current page and its parameters, kept in the fragment of the URL (after `#`). Fragments are not sent to the server,
// and bookmarks and the back button work.
import { useSyncExternalStore } from 'preact/compat'

export const pageNames = [
  'overview',
  'explorer',
  'fx',
  'validators',
  'markets',
  'keys',
  'sign-in',
  'not-found',
] as const
export type PageName = (typeof pageNames)[number]

export interface PageRoute {
  readonly page: PageName
  /** Segments after the page's name. */
  readonly parts: readonly string[]
  readonly query: URLSearchParams
}

export interface PageProps {
  readonly route: PageRoute
}

const isPage = (name: string): name is PageName => (pageNames as readonly string[]).includes(name)

export function parseRoute(hash: string): PageRoute {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?', 2)
  const segments = path.split('/').filter(Boolean).map(decodeSegment)
  const params = new URLSearchParams(query)
  const [first = '', ...parts] = segments
  if (first === '') return { page: 'overview', parts, query: params }
  return isPage(first) ? { page: first, parts, query: params } : { page: 'not-found', parts: segments, query: params }
}

function decodeSegment(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

type Query = Readonly<Record<string, string | number | readonly string[] | undefined>>

/** The URL of a page, for links. Leaves out query values that are undefined or empty. A list becomes repeated values. */
export function hrefOf(page: PageName, parts: readonly (string | number)[] = [], query: Query = {}): string {
  const params = Object.entries(query).flatMap(([name, value]) =>
    [value ?? ''].flat().flatMap((item) => (item === '' ? [] : [[name, String(item)]])),
  )
  const search = params.length > 0 ? `?${new URLSearchParams(params)}` : ''
  return `/#/${[page, ...parts].map(encodeURIComponent).join('/')}${search}`
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
  return parseRoute(hash)
}
