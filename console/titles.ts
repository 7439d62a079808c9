// What a place is called in the browser's tabs, its history and its bookmarks: the thing itself first, then the page.
import { shortenHex } from './parts/format.ts'
import type { PageName, PageRoute } from './route.ts'

type Naming = (parts: readonly string[], query: URLSearchParams) => string

/** Pages that show one thing among many. The token of a sign-in is named nowhere. */
const things: Readonly<Partial<Record<PageName, Naming>>> = {
  explorer: ([chain, address]) =>
    address === undefined ? `Chain ${chain}` : `${shortenHex(address)} on chain ${chain}`,
  fx: ([id]) => `Quote ${id}`,
  validators: ([id], query) => {
    const network = query.get('network')
    return `${id === 'compare' ? 'Compare' : `Validator ${shortenHex(id ?? '')}`}${network ? ` on ${network}` : ''}`
  },
  markets: ([slug]) => `${slug}`,
  keys: ([id]) => (id === 'anonymous' ? 'Calls without a key' : `Key ${id}`),
  reference: ([id]) => `${id}`,
}

export function titleOf({ page, parts, query }: PageRoute, pageTitle: string): string {
  const thing = parts.length > 0 ? things[page]?.(parts, query) : undefined
  return [...(thing === undefined ? [] : [thing]), pageTitle, 'Tetrad'].join(' · ')
}
