// The stored watch list of this browser, and functions that change it.
import { useMemo, useSyncExternalStore } from 'preact/compat'
import type { Network } from '#api/contract/wire/networks.ts'
import { addTo, onWatchListChange, parseWatchList, readStoredText, removeFrom, storeWatchList } from './watch-list.ts'

export function useWatchList(network: Network) {
  const text = useSyncExternalStore(onWatchListChange, readStoredText)
  return useMemo(() => {
    const list = parseWatchList(text)
    return {
      indices: list[network] ?? [],
      add: (indices: readonly number[]) => storeWatchList(addTo(list, network, indices)),
      remove: (index: number) => storeWatchList(removeFrom(list, network, index)),
    }
  }, [text, network])
}
