// The chains this server answers for, and their names, as its configuration has them.
import { usePass } from '../pass.tsx'
import { chainName } from './chains.ts'

/** Ids in the order of the configuration. Undefined until they are known. */
export const useChains = (): readonly string[] | undefined => usePass().session.chains?.map(({ id }) => id)

/** `chainName` with the names of the configuration. */
export function useChainName(): (id: string) => string {
  const { chains } = usePass().session
  return (id) => chainName(id, chains)
}
