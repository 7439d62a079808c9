// Opens the execution nodes of a network. Their chain is that of the settings, otherwise the one that the beacon nodes
// report.
import type { Network } from '#api/contract/wire/validators.ts'
import type { Clock } from '#runtime/clock.ts'
import { knownChainOf } from '#runtime/settings/chain-pins.ts'
import type { NetworkSettings } from '#runtime/settings/validators.ts'
import type { ChainIdentity } from '#sources/beacon/endpoint.ts'
import { openRpc, type Rpc } from '#sources/evm/rpc.ts'

/** All execution nodes are on another chain than the network. */
export class OtherExecutionChainError extends Error {
  override readonly name = 'OtherExecutionChainError'
}

/** The chain of the execution layer; undefined: it is not known. */
export const executionChainOf = (
  network: Network,
  { chainId }: Pick<NetworkSettings['execution'], 'chainId'>,
  reported?: Pick<ChainIdentity, 'executionChainId'>,
): string | undefined => chainId || reported?.executionChainId || knownChainOf(network)?.executionChainId

export function openNetworkRpc(
  network: Network,
  execution: Pick<NetworkSettings['execution'], 'chainId' | 'rpc'>,
  reported: Pick<ChainIdentity, 'executionChainId'>,
  clock: Clock,
): Rpc {
  const chain = executionChainOf(network, execution, reported)
  if (chain !== undefined) return openRpc({ chain, rpc: execution.rpc, clock })
  const setting = `validators.networks.${network}.execution.chainId`
  throw new Error(`${network}: the beacon node does not report DEPOSIT_CHAIN_ID in config/spec; set ${setting}`)
}

/** Undefined if a node is on the right chain, or does not respond. */
export function describeOtherChain(network: Network, client: Rpc): OtherExecutionChainError | undefined {
  const nodes = client.health()
  if (!nodes.every(({ otherChain }) => otherChain !== undefined)) return undefined
  const troubles = nodes.map(({ trouble, name }) => trouble ?? name).join('; ')
  const setting = `validators.networks.${network}.execution`
  return new OtherExecutionChainError(`${network}: ${troubles}. Correct ${setting}.rpc or ${setting}.chainId`)
}
