// The chains this server answers for, as its coverage report names them, and what people call them and their coins.
import { useQuery } from '@tanstack/react-query'
import { units } from './words.ts'

const known: Readonly<Record<string, readonly [name: string, coin: string]>> = {
  1: ['Ethereum', 'ETH'],
  10: ['OP Mainnet', 'ETH'],
  56: ['BNB Smart Chain', 'BNB'],
  100: ['Gnosis', 'xDAI'],
  137: ['Polygon', 'POL'],
  8453: ['Base', 'ETH'],
  42161: ['Arbitrum One', 'ETH'],
  43114: ['Avalanche', 'AVAX'],
  59144: ['Linea', 'ETH'],
  17000: ['Holesky', 'ETH'],
  560048: ['Hoodi', 'ETH'],
  11155111: ['Sepolia', 'ETH'],
}

/** `Ethereum (1)`; the number alone where nobody knows a name. */
export const chainName = (id: string): string => (known[id] ? `${known[id][0]} (${id})` : `chain ${id}`)

/** An amount of the chain's own coin. What is too small to show at `places` decimals is never shown as nothing. */
export function coins(chain: string, wei: string, places = 6): string {
  const shown = units(wei, 18, places)
  const amount = shown === '0' && BigInt(wei) > 0n ? `<${units(10n ** BigInt(18 - places), 18, places)}` : shown
  return `${amount} ${known[chain]?.[1] ?? 'coins'}`
}

/** Ids in the order of the configuration. Undefined until they are known. */
export function useChains(): readonly string[] | undefined {
  return useQuery({
    queryKey: ['coverage', 'chains'],
    staleTime: 60_000,
    queryFn: async ({ signal }) => {
      const response = await fetch('/coverage', { signal })
      if (!response.ok) throw new Error(`coverage: HTTP ${response.status}`)
      return chainsIn(await response.json())
    },
  }).data
}

export function chainsIn(report: {
  readonly streams?: readonly { readonly group: string; readonly name: string }[]
}): readonly string[] {
  const named = (report.streams ?? []).map(({ group, name }) => group === 'explorer' && /^chain (\d+)$/.exec(name)?.[1])
  return named.filter((id) => typeof id === 'string')
}
