// The fee recipient of a payload that its proposer built itself, since Gloas: from the envelope of the payload, or from the
// execution node, by the hash in the block.

import type { Network } from '#api/contract/wire/validators.ts'
import { networkSettings } from '#runtime/settings/validators.ts'
import type { Block } from '#sources/beacon/block.ts'
import { type Beacon, ServerStatusError } from '#sources/beacon/client.ts'
import { payloadStatus } from '#sources/beacon/payload-status.ts'
import type { Rpc, RpcCall } from '#sources/evm/rpc.ts'
import type { ValidatorsContext } from '../../context.ts'
import { createBeaconQueries } from '../../ingest/read/beacon-queries.ts'
import { NodeBlocks } from '../../ingest/read/node-blocks.ts'
import { openNetworkRpc } from '../../network-rpc.ts'

/** Lower-case. Undefined: the payload is not known, for example because it was never published. */
export type ReadFeeRecipient = (block: Block, signal?: AbortSignal) => Promise<string | undefined>

export function createFeeRecipientReader(
  { settings, clock }: Pick<ValidatorsContext, 'settings' | 'clock'>,
  network: Network,
  beacon: Beacon,
): ReadFeeRecipient {
  const { execution } = networkSettings(settings, network)
  let rpc: Rpc | undefined
  return async (block, signal) => {
    const { rules, identity } = await beacon.chain(signal)
    const queries = createBeaconQueries(beacon, rules, signal)
    const envelope = await orUndefined(queries.envelope(block))
    if (envelope) return envelope.payload.feeRecipient
    if (execution.rpc.length === 0) return undefined
    rpc ??= openNetworkRpc(network, execution, identity, clock)
    // An execution node does not have payloads that are not part of the chain.
    const child = await new NodeBlocks().findFrom(queries, block.slot + 1)
    if (child?.parentRoot !== block.root || payloadStatus(block, child) !== 'full') return undefined
    const [outcome] = await rpc.call([blockCall(block.bid?.blockHash ?? '')], signal ? { signal } : {})
    return outcome?.is === 'result' ? (outcome.result as ExecutedBlock).miner.toLowerCase() : undefined
  }
}

/** Prysm answers with status 500 if its execution node does not have the payload. */
const orUndefined = <T>(request: Promise<T | undefined>): Promise<T | undefined> =>
  request.catch((error: unknown) => {
    if (!(error instanceof ServerStatusError)) throw error
    return undefined
  })

interface ExecutedBlock {
  readonly hash: string
  readonly miner: string
}

const blockCall = (blockHash: string): RpcCall => ({
  method: 'eth_getBlockByHash',
  params: [blockHash, false],
  validate: (result) => {
    const { hash, miner } = (result ?? {}) as Partial<ExecutedBlock>
    if (typeof hash !== 'string' || hash.toLowerCase() !== blockHash.toLowerCase()) return 'the block has another hash'
    return typeof miner === 'string' && /^0x[0-9a-f]{40}$/i.test(miner) ? undefined : 'the block is incomplete'
  },
})
