// The validators that somebody watches on the page "My validators", kept in the browser, by network.
import { isNetworkName, type Network } from '#api/contract/wire/networks.ts'

export const watchedMax = 100

export type WatchList = Readonly<Partial<Record<Network, readonly number[]>>>

const storageKey = 'tetrad-watch-list'
const changeEvent = 'tetrad-watch-list'

const isIndex = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0

/** Ignores what is not a list of indices: another version may have stored something else. */
export function parseWatchList(text: string | null): WatchList {
  try {
    const stored: unknown = JSON.parse(text ?? '{}')
    if (typeof stored !== 'object' || stored === null) return {}
    const lists = Object.entries(stored).flatMap(([network, indices]: [string, unknown]) => {
      return isNetworkName(network) && Array.isArray(indices) ? [[network, uniqueIndices(indices.filter(isIndex))]] : []
    })
    return Object.fromEntries(lists)
  } catch {
    return {}
  }
}

const uniqueIndices = (indices: readonly number[]): number[] =>
  [...new Set(indices)].slice(0, watchedMax).sort((a, b) => a - b)

/** Indices in a text such as `12, 34 56`; undefined if it contains anything else. */
export function indicesIn(text: string): number[] | undefined {
  const parts = text.split(/[\s,;]+/).filter((part) => part !== '')
  return parts.length > 0 && parts.every((part) => /^\d{1,9}$/.test(part)) ? parts.map(Number) : undefined
}

export const addTo = (list: WatchList, network: Network, indices: readonly number[]): WatchList => ({
  ...list,
  [network]: uniqueIndices([...(list[network] ?? []), ...indices]),
})

export const removeFrom = (list: WatchList, network: Network, index: number): WatchList => ({
  ...list,
  [network]: (list[network] ?? []).filter((watched) => watched !== index),
})

/** Undefined storage counts as empty: a browser may forbid it. */
export function readStoredText(): string | null {
  try {
    return localStorage.getItem(storageKey)
  } catch {
    return null
  }
}

export function storeWatchList(list: WatchList): void {
  localStorage.setItem(storageKey, JSON.stringify(list))
  window.dispatchEvent(new Event(changeEvent))
}

/** Calls back when this tab or another one changes the list. */
export function onWatchListChange(changed: () => void): () => void {
  const names = [changeEvent, 'storage']
  for (const name of names) window.addEventListener(name, changed)
  return () => {
    for (const name of names) window.removeEventListener(name, changed)
  }
}
