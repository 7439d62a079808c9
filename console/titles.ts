// Document titles for tabs, history and bookmarks: first the item that is shown, then the page.
import type { Group } from '#api/contract/routes.ts'
import { shortenHex } from './parts/format.ts'
import type { PageName, PageRoute } from './route.ts'

export const groupTitles: Readonly<Record<Group, string>> = {
  explorer: 'Explorer',
  fx: 'FX',
  validators: 'Validators',
  markets: 'Markets',
}

type FormatItem = (parts: readonly string[], query: URLSearchParams) => string

/** Pages that show one item. The sign-in page is not among them: its address contains a secret token. */
const itemTitles: Readonly<Partial<Record<PageName, FormatItem>>> = {
  explorer: ([chain = '', item]) => {
    if (item === undefined) return `Chain ${chain}`
    if (chain === 'entity') return item
    return chain === 'tx' ? `Transaction ${shortenHex(item)}` : `${shortenHex(item)} on chain ${chain}`
  },
  fx: ([id]) => `Quote ${id}`,
  validators: ([id], query) => {
    const network = query.get('network')
    if (id === 'mine') return 'My validators'
    return `${id === 'compare' ? 'Compare' : `Validator ${shortenHex(id ?? '')}`}${network ? ` on ${network}` : ''}`
  },
  markets: ([slug]) => `${slug}`,
  keys: ([id]) => (id === 'anonymous' ? 'Requests without a key' : `Key ${id}`),
}

export function titleOf({ page, parts, query }: PageRoute, pageTitle: string): string {
  const item = parts.length > 0 ? itemTitles[page]?.(parts, query) : undefined
  return joinTitle(item, pageTitle)
}

export const joinTitle = (item: string | undefined, pageTitle: string): string =>
  [...(item === undefined ? [] : [item]), pageTitle, 'Tetrad'].join(' · ')
