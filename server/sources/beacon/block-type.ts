// SSZ types of the signed block of each fork, as the consensus specifications define them. They are used to compute
// block roots and to convert blocks from JSON.
import { type ConsensusRules, type Fork, isForkFrom } from './consensus.ts'
import {
  bitlistType,
  bitvectorType,
  byteListType,
  bytesType,
  containerType,
  listType,
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
}

function typeOf(fork: Fork, rules: ConsensusRules) {
  const { blockLimits: limits, syncCommitteeSize, committeesPerSlotMax } = rules
  const isElectra = isForkFrom(fork, 'electra')
  const indicesMax = limits.validatorsPerCommittee * (isElectra ? committeesPerSlotMax : 1)
  const indexed = containerType({ attesting_indices: uint64ListType(indicesMax), data: attestationData, signature })
  const attestation = containerType({
    aggregation_bits: bitlistType(indicesMax),
    data: attestationData,
    signature,
    ...(isElectra && { committee_bits: bitvectorType(committeesPerSlotMax) }),
  })
  const payload = containerType({
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
  })
  const slashing = containerType({ attestation_1: indexed, attestation_2: indexed })
  const body = containerType({
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
    ...(isForkFrom(fork, 'bellatrix') && { execution_payload: payload }),
    ...(isForkFrom(fork, 'capella') && {
      bls_to_execution_changes: listType(credentialsChange, limits.credentialsChanges),
    }),
    ...(isForkFrom(fork, 'deneb') && { blob_kzg_commitments: listType(pubkey, limits.blobCommitments) }),
    ...(isElectra && {
      execution_requests: containerType({
        deposits: listType(requests.deposit, limits.depositRequests),
        withdrawals: listType(requests.withdrawal, limits.withdrawalRequests),
        consolidations: listType(requests.consolidation, limits.consolidationRequests),
      }),
    }),
  })
  const message = containerType({ slot: uint64, proposer_index: uint64, parent_root: root, state_root: root, body })
  return { message, signed: containerType({ message, signature }) }
}

/** Memoized: a type depends only on the fork and the rules. */
const cache = new WeakMap<ConsensusRules, Map<Fork, ReturnType<typeof typeOf>>>()

export function blockTypeOf(fork: Fork, rules: ConsensusRules): ReturnType<typeof typeOf> {
  return cache.getOrInsertComputed(rules, () => new Map()).getOrInsertComputed(fork, () => typeOf(fork, rules))
}

/** The root of a block, computed from the fields of its header in JSON. */
export const headerRoot = (message: unknown): string => rootOf(headerType, headerType.fromJson(message, 'message'))
