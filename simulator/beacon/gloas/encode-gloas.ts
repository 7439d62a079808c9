// What blocks have since Gloas, as JSON of the Beacon API: bids, envelopes, requests and votes about payloads. Roots and
// SSZ follow from the JSON (encode-block.ts). Fields that ingest does not read are zero.
import { blockTypeOf } from '#sources/beacon/block-type.ts'
import { rootOf } from '#sources/beacon/ssz-type.ts'
import { infinitySignature, payloadJson, zeroText } from '../encode-payload.ts'
import { type NetworkPlan, rulesOf } from '../plan.ts'
import type { SimulatedBlock } from '../records.ts'
import { bitsOf } from '../ssz-writer.ts'
import {
  type BuilderIndex,
  type GloasParts,
  noRequests,
  type SimulatedBid,
  type SimulatedBuilder,
  type SimulatedPayloadVotes,
  type SimulatedRequests,
} from './gloas-records.ts'

const selfBuildIndex = String(2n ** 64n - 1n)

export const builderText = (builder: BuilderIndex): string => (builder === 'self' ? selfBuildIndex : String(builder))

const requestsJson = (requests: SimulatedRequests) => ({
  deposits: requests.deposits.map(({ pubkey, credentials, gwei }, at) => ({
    ...{ pubkey, withdrawal_credentials: credentials, amount: String(gwei), signature: zeroText(96) },
    index: String(at),
  })),
  withdrawals: requests.withdrawals.map(({ sender, pubkey, gwei }) => ({
    ...{ source_address: sender, validator_pubkey: pubkey, amount: String(gwei) },
  })),
  consolidations: requests.consolidations.map(({ sender, source, target }) => ({
    ...{ source_address: sender, source_pubkey: source, target_pubkey: target },
  })),
  builder_deposits: requests.builderDeposits.map(({ pubkey, credentials, gwei }) => ({
    ...{ pubkey, withdrawal_credentials: credentials, amount: String(gwei), signature: zeroText(96) },
  })),
  builder_exits: requests.builderExits.map(({ sender, pubkey }) => ({ source_address: sender, pubkey })),
})

export function requestsRoot(requests: SimulatedRequests, plan: NetworkPlan): string {
  const type = blockTypeOf('gloas', rulesOf(plan)).executionRequests
  return rootOf(type, type.fromJson(requestsJson(requests), 'requests'))
}

export const emptyRequestsRoot = (plan: NetworkPlan): string => requestsRoot(noRequests, plan)

export const bidJson = (bid: SimulatedBid) => ({
  parent_block_hash: bid.parentHash,
  parent_block_root: bid.parentRoot,
  block_hash: bid.blockHash,
  prev_randao: bid.prevRandao,
  fee_recipient: bid.feeRecipient,
  gas_limit: '0',
  builder_index: builderText(bid.builder),
  slot: String(bid.slot),
  value: String(bid.value),
  execution_payment: String(bid.executionPayment),
  blob_kzg_commitments: [],
  execution_requests_root: bid.requestsRoot,
})

export const signedBidJson = (bid: SimulatedBid) => ({
  message: bidJson(bid),
  signature: bid.builder === 'self' ? infinitySignature : zeroText(96),
})

const payloadVotesJson = ({ blockRoot, slot, isPresent, hasBlobs, bits }: SimulatedPayloadVotes) => ({
  aggregation_bits: `0x${bitsOf(bits).toString('hex')}`,
  data: {
    ...{ beacon_block_root: blockRoot, slot: String(slot) },
    ...{ payload_present: isPresent, blob_data_available: hasBlobs },
  },
  signature: zeroText(96),
})

/** The fields of a block's body that begin with Gloas. */
export const gloasBodyJson = ({
  bid,
  payloadVotes,
  parentRequests,
}: Pick<GloasParts, 'bid' | 'payloadVotes' | 'parentRequests'>) => ({
  signed_execution_payload_bid: signedBidJson(bid),
  payload_attestations: payloadVotes.map(payloadVotesJson),
  parent_execution_requests: requestsJson(parentRequests),
})

export const exitJson = (validator: number) => ({
  message: { epoch: '0', validator_index: String(validator) },
  signature: zeroText(96),
})

export const credentialsChangeJson = ({ validator, address }: GloasParts['credentialsChanges'][number]) => ({
  message: {
    ...{ validator_index: String(validator), from_bls_pubkey: zeroText(48) },
    to_execution_address: address,
  },
  signature: zeroText(96),
})

type EnvelopeBlock = Pick<SimulatedBlock, 'fork' | 'payload' | 'withdrawals' | 'root' | 'parentRoot'>

/** A signed envelope. */
export const envelopeJson = (block: EnvelopeBlock, { bid, requests }: Pick<GloasParts, 'bid' | 'requests'>) => ({
  message: {
    payload: envelopePayloadJson(block, bid),
    execution_requests: requestsJson(requests),
    builder_index: builderText(bid.builder),
    beacon_block_root: block.root,
    parent_beacon_block_root: block.parentRoot,
  },
  signature: zeroText(96),
})

const envelopePayloadJson = (block: EnvelopeBlock, { parentHash, slot }: SimulatedBid) => ({
  ...payloadJson(block),
  parent_hash: parentHash,
  block_access_list: '0xc0',
  slot_number: String(slot),
})

export const envelopeBytes = (block: SimulatedBlock, parts: GloasParts, plan: NetworkPlan): Buffer =>
  Buffer.from(blockTypeOf('gloas', rulesOf(plan)).signedEnvelope.fromJson(envelopeJson(block, parts), 'envelope'))

export const builderJson = (
  { pubkey, address, balance, depositEpoch, withdrawable }: SimulatedBuilder,
  index: number,
  finalized: number,
) => ({
  index: String(index),
  status: withdrawable !== Number.POSITIVE_INFINITY ? 'exited' : depositEpoch < finalized ? 'active' : 'pending',
  builder: {
    ...{ pubkey, version: '0', execution_address: address, balance: String(balance) },
    deposit_epoch: String(depositEpoch),
    withdrawable_epoch: withdrawable === Number.POSITIVE_INFINITY ? selfBuildIndex : String(withdrawable),
  },
})
