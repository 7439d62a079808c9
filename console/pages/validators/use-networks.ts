// The networks of this server, as its session lists them.
import { type Network, networks } from '#api/contract/wire/networks.ts'
import { useConsoleContext } from '../../session.tsx'

/** All networks of the configuration. */
export function useNetworks(): readonly Network[] {
  const { networks: configured } = useConsoleContext().session
  return configured?.map(({ name }) => name) ?? networks
}

/** The execution chain of a network, where deposits are made. Undefined: it is not known. */
export const useExecutionChain = (network: Network): string | undefined =>
  useConsoleContext().session.networks?.find(({ name }) => name === network)?.chain ?? undefined
