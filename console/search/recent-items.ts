// The list of recent items, as text in the browser's storage and back.
import { isPagePath } from '../route.ts'

export interface RecentItem {
  readonly kind: string
  readonly label: string
  readonly href: string
}

const itemsMax = 12

/** The newest first, each address once. */
export const addRecent = (items: readonly RecentItem[], item: RecentItem): readonly RecentItem[] =>
  [item, ...items.filter(({ href }) => href !== item.href)].slice(0, itemsMax)

const isItem = (value: unknown): value is RecentItem =>
  ['kind', 'label', 'href'].every((name) => typeof (value as Record<string, unknown> | null)?.[name] === 'string')

/** A page of the console or of the documentation. */
const isOwnPage = (href: string): boolean => href.startsWith('/docs/') || isPagePath(href.replace(/\?.*$/, ''))

/** Ignores text that this console did not write, and links to other sites. */
export function parseRecent(text: string): readonly RecentItem[] {
  try {
    const items: unknown = JSON.parse(text)
    return Array.isArray(items) ? items.filter((item) => isItem(item) && isOwnPage(item.href)) : []
  } catch {
    return []
  }
}
