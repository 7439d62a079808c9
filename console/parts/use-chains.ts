// The chains this server answers for, and their names, as its configuration has them.
import { useConsoleContext } from '../session.tsx'
import { chainName } from './chains.ts'

/** Ids in the order of the configuration. Undefined until they are known. */
export const useChains = (): readonly string[] | undefined => useConsoleContext().session.chains?.map(({ id }) => id)

/** `chainName` with the names of the configuration. */
export function useChainName(): (id: string) => string {
  const { chains } = useConsoleContext().session
  return (id) => chainName(id, chains)
}
