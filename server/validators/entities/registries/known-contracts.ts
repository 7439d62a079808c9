// The contracts that registries of validators begin with, on the chains that are known. The settings replace them
// (`validators.networks.<name>.entities.registries`), and name those of other chains.
import type { NetworkSettings } from '#runtime/settings/validators.ts'

export type ContractName = keyof NetworkSettings['entities']['registries']

/** By id of the chain. */
const known: Readonly<Record<string, Readonly<Record<ContractName, string>>>> = {
  '1': {
    rocketStorage: '0x1d8f8f00cfa6758d7be78336684788fb0ee0fa46',
    eigenPodManager: '0x91e677b07f7af907ec9a428aafa9fc14a0d3a338',
    etherFiStakingManager: '0x25e821b7197b146f7713c3b89b6a4d83516b912d',
    stakeWiseVaultsRegistry: '0x3a0008a588772446f6e656133c2d5029cc4fc20e',
    lidoLocator: '0xc1d0b3de6792bf6b4b37eccdcc24e45978cfd2eb',
    lidoVaultFactory: '0x02ca7772ff14a9f6c1a08af385aa96bb1b34175a',
  },
  '560048': {
    rocketStorage: '0x594fb75d3dc2dfa0150ad03f99f97817747dd4e1',
    eigenPodManager: '0xcd1442415fc5c29aa848a49d2e232720be07976c',
    etherFiStakingManager: '0xdbe50e32ed95f539f36ba315a75377fbc35abc12',
    stakeWiseVaultsRegistry: '0xf16fea93d3253a401c3f73b0de890c6586740b25',
    lidoLocator: '0xe2ef9536daaaebff5b1c130957ab3e80056b06d8',
    lidoVaultFactory: '0x7ba269a03eed86f2f54cb04ca3b4b7626636df4e',
  },
}

export type RegistryContracts = Readonly<Record<ContractName, string | undefined>>

/** Lower case. Undefined: the registry is not asked. */
export function registryContracts(
  registries: NetworkSettings['entities']['registries'],
  chainId: string | undefined,
): RegistryContracts {
  const ofChain = chainId === undefined ? undefined : known[chainId]
  const contracts = Object.entries(registries).map(([name, set]) => {
    const contract = set === '' ? ofChain?.[name as ContractName] : set.toLowerCase()
    return [name, contract === 'none' ? undefined : contract]
  })
  return Object.fromEntries(contracts) as RegistryContracts
}
