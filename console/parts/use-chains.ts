// The configured chains of the explorer and their names.
import { useConsoleContext } from '../session.tsx'
import { chainName } from './chains.ts'

/** Ids in the order of the configuration; undefined while loading. */
export const useChains = (): readonly string[] | undefined => useConsoleContext().session.chains?.map(({ id }) => id)

/** `chainName` with the configured names. */
export function useChainName(): (id: string) => string {
  const { chains } = useConsoleContext().session
  return (id) => chainName(id, chains)
}
