// What the settings of a network say about its chain. Everything that they leave out comes from the nodes
// (behaviour/validators.md#one-chain-per-network).
import { type ChainTime, fittingWindows } from '#core/chain-time.ts'
import { type KnownChain, knownChains } from '#core/known-chains.ts'

const numberNames = ['genesisUnix', 'slotSeconds', 'slotsPerEpoch', 'epochsPerHour', 'epochsPerDay'] as const

/** Nodes and stored data must agree with these. Undefined: not set. */
export type ChainPins = { readonly [Name in (typeof numberNames)[number]]?: number } & {
  readonly genesisRoot?: string
  readonly executionChainId?: string
}

interface PinnedSettings extends ChainTime {
  readonly genesisRoot: string
  readonly execution: { readonly chainId: string }
  /** Of settings that were completed with the chain of the nodes. */
  readonly pins?: ChainPins
}

/** In the settings, 0 and an empty text mean that nothing is set. */
export function pinsOf({ pins, genesisRoot, execution, ...settings }: PinnedSettings): ChainPins {
  if (pins) return pins
  const numbers = numberNames.filter((name) => settings[name] !== 0).map((name) => [name, settings[name]])
  return {
    ...(Object.fromEntries(numbers) as ChainPins),
    ...(genesisRoot !== '' && { genesisRoot }),
    ...(execution.chainId !== '' && { executionChainId: execution.chainId }),
  }
}

/** The times of the chain, or until it is known those of the pins, of the known chain of this name, or of mainnet. */
export function chainTimeFrom(
  network: string,
  { genesisUnix, slotSeconds = 12, slotsPerEpoch = 32, ...pinned }: ChainPins,
  chain?: Pick<ChainTime, 'genesisUnix' | 'slotSeconds' | 'slotsPerEpoch'>,
  stored?: Pick<ChainTime, 'epochsPerHour' | 'epochsPerDay'>,
): ChainTime {
  const known = knownChainOf(network)?.genesisUnix ?? 0
  const times = chain ?? { genesisUnix: genesisUnix ?? known, slotSeconds, slotsPerEpoch }
  const { epochsPerHour, epochsPerDay } = { ...fittingWindows(times), ...stored, ...pinned }
  return {
    ...{ genesisUnix: times.genesisUnix, slotSeconds: times.slotSeconds, slotsPerEpoch: times.slotsPerEpoch },
    ...{ epochsPerHour, epochsPerDay },
  }
}

export const knownChainOf = (network: string): KnownChain | undefined =>
  Object.hasOwn(knownChains, network) ? knownChains[network as keyof typeof knownChains] : undefined
