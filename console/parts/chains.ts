// Names of chains and of their native coins. A name from the configuration takes precedence.
import { formatUnits } from './format.ts'

const knownChains: Readonly<Record<string, readonly [name: string, coin: string]>> = {
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

interface Chain {
  readonly id: string
  readonly name: string
}

/** `Ethereum (1)`, or `chain 5` without a known name. */
export function chainName(id: string, configured: readonly Chain[] = []): string {
  const name = configured.find((chain) => chain.id === id)?.name ?? knownChains[id]?.[0]
  return name === undefined ? `chain ${id}` : `${name} (${id})`
}

/** An amount of the chain's native coin. An amount below the last shown decimal is shown as `<0.000001`. */
export function coins(chain: string, wei: string, places = 6): string {
  const shown = formatUnits(wei, 18, places)
  const amount = shown === '0' && BigInt(wei) > 0n ? `<${formatUnits(10n ** BigInt(18 - places), 18, places)}` : shown
  return `${amount} ${knownChains[chain]?.[1] ?? 'coins'}`
}
