// Names of chains, and amounts of their native coins. A name from the configuration takes precedence.
import { chainNames, coinOf } from '#shared/chain-names.ts'
import { formatUnits } from './format.ts'

interface Chain {
  readonly id: string
  readonly name: string
}

/** `Ethereum (1)`, or `chain 5` without a known name. */
export function chainName(id: string, configured: readonly Chain[] = []): string {
  const name = configured.find((chain) => chain.id === id)?.name ?? chainNames[id]?.[0]
  return name === undefined ? `chain ${id}` : `${name} (${id})`
}

/**
 * An amount of the chain's native coin. An amount below the last shown decimal is shown as `<0.000001`. A column of a
 * table has as many decimals in each row: `placesMin`.
 */
export function coins(chain: string, wei: string, places = 6, placesMin = 0): string {
  const least = 10n ** BigInt(18 - places)
  const isTooSmall = BigInt(wei) > 0n && BigInt(wei) < least
  const amount = isTooSmall ? `<${formatUnits(least, 18, places)}` : formatUnits(wei, 18, places, placesMin)
  return `${amount} ${coinOf(chain)}`
}
