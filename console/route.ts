// The current page and its parameters, kept in the path and query of the address: `/validators/12?network=hoodi`. Links
// to pages change the address without loading the console again. Addresses of earlier versions, with the page in the
// fragment (`/#/validators/12`), open the same page.
import { useSyncExternalStore } from 'preact/compat'
import { type ConsolePage, consolePages } from '#shared/console-pages.ts'

export type PageName = ConsolePage | 'not-found'
export const pageNames = Object.keys(consolePages) as readonly ConsolePage[]

export interface PageRoute {
  readonly page: PageName
  /** Segments after the page's name. */
  readonly parts: readonly string[]
  readonly query: URLSearchParams
}

export interface PageProps {
  readonly route: PageRoute
}

const segmentOf = (page: ConsolePage): string => consolePages[page][0].slice(1)

/** The page in the fragment of an earlier version's address. */
const oldLink = /^[^#]*#\//

/** `address` is relative to the server. */
export function parseRoute(address: string): PageRoute {
  const isOld = oldLink.test(address)
  const [path = '', query = ''] = (isOld ? address.replace(oldLink, '') : address.replace(/#.*$/, '')).split('?', 2)
  const segments = path.split('/').filter(Boolean).map(decodeSegment)
  const params = new URLSearchParams(query)
  const [first, ...parts] = segments
  if (first === undefined) return { page: 'home', parts, query: params }
  const page = pageNames.find((name) => first === (isOld ? name : segmentOf(name)))
  // A page ignores a slash at the end of its address, but nothing else.
  const isPage = page !== undefined && (isOld || isPagePath(path.replace(/\/$/, '')))
  return isPage ? { page, parts, query: params } : { page: 'not-found', parts: segments, query: params }
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
export function hrefOf(page: ConsolePage, parts: readonly (string | number)[] = [], query: Query = {}): string {
  const params = Object.entries(query).flatMap(([name, value]) =>
    [value ?? ''].flat().flatMap((item) => (item === '' ? [] : [[name, String(item)]])),
  )
  const search = params.length > 0 ? `?${new URLSearchParams(params)}` : ''
  return `/${[segmentOf(page), ...parts].map(encodeURIComponent).join('/')}${search}`
}

const pagePatterns = Object.values(consolePages)
  .flat()
  .map((path) => new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`))

/** Whether the server delivers the console at this path. */
export const isPagePath = (path: string): boolean => pagePatterns.some((pattern) => pattern.test(path))

/** The address of today for one of an earlier version; undefined: it has none, or contains the token of a sign-in link. */
export function upgradeAddress(address: string): string | undefined {
  if (!oldLink.test(address)) return undefined
  const { page } = parseRoute(address)
  if (page === 'not-found' || page === 'sign-in') return undefined
  const [path = '', query] = address.replace(oldLink, '').split('?', 2)
  const upgraded = [consolePages[page][0], ...path.split('/').slice(1)].join('/')
  if (!isPagePath(upgraded)) return undefined
  return query === undefined ? upgraded : `${upgraded}?${query}`
}

const currentAddress = (): string => {
  const { pathname, search, hash } = window.location
  return `${pathname}${search}${hash}`
}

const navigatedEvent = 'tetrad-navigated'

/** Opens a page. `replace`: without a history entry of its own. */
export function navigate(href: string, { replace = false } = {}): void {
  if (replace || href === currentAddress()) window.history.replaceState(null, '', href)
  else window.history.pushState(null, '', href)
  window.dispatchEvent(new Event(navigatedEvent))
}

export const go = (page: ConsolePage, parts: readonly (string | number)[] = [], query: Query = {}): void =>
  navigate(hrefOf(page, parts, query))

/** Opens links to pages within the console. Other clicks, for example with Ctrl, are left to the browser. */
function openLink(event: MouseEvent): void {
  const { defaultPrevented, button, ctrlKey, metaKey, shiftKey, altKey, target } = event
  if (defaultPrevented || button !== 0 || ctrlKey || metaKey || shiftKey || altKey) return
  const link = (target as Element).closest('a')
  const href = link?.getAttribute('href')
  if (!link || !href || link.hasAttribute('target') || link.hasAttribute('download')) return
  const { origin, pathname, search, hash } = new URL(href, window.location.href)
  if (origin !== window.location.origin || hash !== '' || !isPagePath(pathname)) return
  event.preventDefault()
  navigate(`${pathname}${search}`)
}

function upgradeCurrent(): void {
  const upgraded = upgradeAddress(currentAddress())
  if (upgraded !== undefined) window.history.replaceState(null, '', upgraded)
}

/** Call once, before the first page is shown. */
export function startRouting(): void {
  upgradeCurrent()
  // Before the listeners of components.
  window.addEventListener('hashchange', upgradeCurrent)
  document.addEventListener('click', openLink)
}

const addressEvents = ['popstate', 'hashchange', navigatedEvent] as const

function onAddressChange(changed: () => void): () => void {
  for (const name of addressEvents) window.addEventListener(name, changed)
  return () => {
    for (const name of addressEvents) window.removeEventListener(name, changed)
  }
}

export const currentRoute = (): PageRoute => parseRoute(currentAddress())

export const useRoute = (): PageRoute => parseRoute(useSyncExternalStore(onAddressChange, currentAddress))
