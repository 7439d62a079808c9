// SSZ types of the signed block of each fork, and of the envelope of its payload since Gloas, as the consensus
// specifications define them. They are used to compute block roots and to convert JSON.
import { recordFrom } from '#core/record-from.ts'
import { type ConsensusRules, type Fork, isForkFrom } from './consensus.ts'
import { progressive } from './merkle.ts'
import {
  bitlistType,
  bitvectorType,
  booleanType,
  byteListType,
  bytesType,
  containerType,
  listType,
  progressiveContainerType,
  rootOf,
  rootVectorType,
  uint64ListType,
  uintType,
} from './ssz-type.ts'

const uint64 = uintType(8)
const root = bytesType(32)
const address = bytesType(20)
const pubkey = bytesType(48)
const signature = bytesType(96)

export const headerType = containerType({
  slot: uint64,
  proposer_index: uint64,
  parent_root: root,
  state_root: root,
  body_root: root,
})

const checkpoint = containerType({ epoch: uint64, root })
const attestationData = containerType({
  slot: uint64,
  index: uint64,
  beacon_block_root: root,
  source: checkpoint,
  target: checkpoint,
})
const signedHeader = containerType({ message: headerType, signature })
const proposerSlashing = containerType({ signed_header_1: signedHeader, signed_header_2: signedHeader })
const depositData = { pubkey, withdrawal_credentials: root, amount: uint64, signature }
const deposit = containerType({ proof: rootVectorType(33), data: containerType(depositData) })
const exit = containerType({ message: containerType({ epoch: uint64, validator_index: uint64 }), signature })
const credentialsChange = containerType({
  message: containerType({ validator_index: uint64, from_bls_pubkey: pubkey, to_execution_address: address }),
  signature,
})
const withdrawal = containerType({ index: uint64, validator_index: uint64, address, amount: uint64 })
const requests = {
  deposit: containerType({ ...depositData, index: uint64 }),
  withdrawal: containerType({ source_address: address, validator_pubkey: pubkey, amount: uint64 }),
  consolidation: containerType({ source_address: address, source_pubkey: pubkey, target_pubkey: pubkey }),
  builderDeposit: containerType(depositData),
  builderExit: containerType({ source_address: address, pubkey }),
}

const unlimited = (limits: ConsensusRules['blockLimits']): ConsensusRules['blockLimits'] =>
  recordFrom(Object.keys(limits) as (keyof typeof limits)[], () => progressive)

function typeOf(fork: Fork, rules: ConsensusRules) {
  const { syncCommitteeSize, committeesPerSlotMax, payloadCommitteeSize } = rules
  const isElectra = isForkFrom(fork, 'electra')
  const isGloas = isForkFrom(fork, 'gloas')
  // Since Gloas, most lists and some containers have progressive trees (EIP-7688).
  const limits = isGloas ? unlimited(rules.blockLimits) : rules.blockLimits
  const stableType = isGloas ? progressiveContainerType : containerType
  const indicesMax = limits.validatorsPerCommittee * (isElectra ? committeesPerSlotMax : 1)
  const indexed = stableType({ attesting_indices: uint64ListType(indicesMax), data: attestationData, signature })
  const attestation = stableType({
    aggregation_bits: bitlistType(indicesMax),
    data: attestationData,
    signature,
    ...(isElectra && { committee_bits: bitvectorType(committeesPerSlotMax) }),
  })
  const payload = stableType({
    parent_hash: root,
    fee_recipient: address,
    state_root: root,
    receipts_root: root,
    logs_bloom: bytesType(256),
    prev_randao: root,
    block_number: uint64,
    gas_limit: uint64,
    gas_used: uint64,
    timestamp: uint64,
    extra_data: byteListType(32),
    base_fee_per_gas: uintType(32),
    block_hash: root,
    transactions: listType(byteListType(limits.bytesPerTransaction), limits.transactions),
    ...(isForkFrom(fork, 'capella') && { withdrawals: listType(withdrawal, limits.withdrawals) }),
    ...(isForkFrom(fork, 'deneb') && { blob_gas_used: uint64, excess_blob_gas: uint64 }),
    ...(isGloas && { block_access_list: byteListType(progressive), slot_number: uint64 }),
  })
  const executionRequests = stableType({
    deposits: listType(requests.deposit, limits.depositRequests),
    withdrawals: listType(requests.withdrawal, limits.withdrawalRequests),
    consolidations: listType(requests.consolidation, limits.consolidationRequests),
    ...(isGloas && {
      builder_deposits: listType(requests.builderDeposit, progressive),
      builder_exits: listType(requests.builderExit, progressive),
    }),
  })
  const blobCommitments = listType(pubkey, limits.blobCommitments)
  const bid = progressiveContainerType({
    parent_block_hash: root,
    parent_block_root: root,
    block_hash: root,
    prev_randao: root,
    fee_recipient: address,
    gas_limit: uint64,
    builder_index: uint64,
    slot: uint64,
    value: uint64,
    execution_payment: uint64,
    blob_kzg_commitments: blobCommitments,
    execution_requests_root: root,
  })
  const payloadAttestation = progressiveContainerType({
    aggregation_bits: bitvectorType(payloadCommitteeSize),
    data: containerType({
      beacon_block_root: root,
      slot: uint64,
      payload_present: booleanType,
      blob_data_available: booleanType,
    }),
    signature,
  })
  const slashing = containerType({ attestation_1: indexed, attestation_2: indexed })
  const body = stableType({
    randao_reveal: signature,
    eth1_data: containerType({ deposit_root: root, deposit_count: uint64, block_hash: root }),
    graffiti: root,
    proposer_slashings: listType(proposerSlashing, limits.proposerSlashings),
    attester_slashings: listType(slashing, isElectra ? limits.attesterSlashingsElectra : limits.attesterSlashings),
    attestations: listType(attestation, isElectra ? limits.attestationsElectra : limits.attestations),
    deposits: listType(deposit, limits.deposits),
    voluntary_exits: listType(exit, limits.exits),
    sync_aggregate: containerType({
      sync_committee_bits: bitvectorType(syncCommitteeSize),
      sync_committee_signature: signature,
    }),
    ...(isForkFrom(fork, 'bellatrix') && !isGloas && { execution_payload: payload }),
    ...(isForkFrom(fork, 'capella') && {
      bls_to_execution_changes: listType(credentialsChange, limits.credentialsChanges),
    }),
    ...(isForkFrom(fork, 'deneb') && !isGloas && { blob_kzg_commitments: blobCommitments }),
    ...(isElectra && !isGloas && { execution_requests: executionRequests }),
    ...(isGloas && {
      signed_execution_payload_bid: containerType({ message: bid, signature }),
      payload_attestations: listType(payloadAttestation, progressive),
      parent_execution_requests: executionRequests,
    }),
  })
  const message = containerType({ slot: uint64, proposer_index: uint64, parent_root: root, state_root: root, body })
  /** Since Gloas: what the payload of a block is published in. */
  const envelope = progressiveContainerType({
    payload,
    execution_requests: executionRequests,
    builder_index: uint64,
    beacon_block_root: root,
    parent_beacon_block_root: root,
  })
  return {
    message,
    signed: containerType({ message, signature }),
    signedEnvelope: containerType({ message: envelope, signature }),
    executionRequests,
  }
}

/** Memoized: a type depends only on the fork and the rules. */
const cache = new WeakMap<ConsensusRules, Map<Fork, ReturnType<typeof typeOf>>>()

export function blockTypeOf(fork: Fork, rules: ConsensusRules): ReturnType<typeof typeOf> {
  return cache.getOrInsertComputed(rules, () => new Map()).getOrInsertComputed(fork, () => typeOf(fork, rules))
}

/** The root of a block, computed from the fields of its header in JSON. */
export const headerRoot = (message: unknown): string => rootOf(headerType, headerType.fromJson(message, 'message'))
