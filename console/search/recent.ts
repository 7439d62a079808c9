// Items that were opened recently in this browser, newest first. They stay in the browser's storage.
import { useEffect, useSyncExternalStore } from 'preact/compat'
import { type PageName, parseRoute } from '../route.ts'
import { addRecent, parseRecent, type RecentItem } from './recent-items.ts'

const storageKey = 'tetrad-recent'
const changedEvent = 'tetrad-recent'

function write(items: readonly RecentItem[]): void {
  localStorage.setItem(storageKey, JSON.stringify(items))
  window.dispatchEvent(new Event(changedEvent))
}

const readText = (): string => localStorage.getItem(storageKey) ?? ''

function subscribe(changed: () => void): () => void {
  window.addEventListener(changedEvent, changed)
  return () => window.removeEventListener(changedEvent, changed)
}

/** All items, or those of one page. */
export function useRecent(page?: PageName): readonly RecentItem[] {
  const items = parseRecent(useSyncExternalStore(subscribe, readText))
  return page === undefined ? items : items.filter(({ href }) => parseRoute(href).page === page)
}

export const clearRecent = (): void => write([])

export const remember = (item: RecentItem): void => write(addRecent(parseRecent(readText()), item))

/** Remembers the item that a page shows. Undefined: it is not loaded, or does not exist. */
export function useRemember(item: RecentItem | undefined): void {
  const { kind, label, href } = item ?? {}
  useEffect(() => {
    if (kind === undefined || label === undefined || href === undefined) return
    remember({ kind, label, href })
  }, [kind, label, href])
}
