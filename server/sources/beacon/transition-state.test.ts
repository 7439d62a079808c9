// States of Deneb, Electra, Fulu and Gloas, encoded from the list of fields in the consensus specifications.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Fork, isForkFrom, readRules } from './consensus.ts'
import { payloadCommitteeOf } from './payload-state.ts'
import { View } from './ssz.ts'
import { byteListType, bytesType, containerType, listType, type SszType, uint64ListType, uintType } from './ssz-type.ts'
import { transitionStateFromSsz } from './transition-state.ts'
import { stateFromSsz } from './validators.ts'

const small = {
  ...{ SLOTS_PER_EPOCH: '4', SYNC_COMMITTEE_SIZE: '3', SLOTS_PER_HISTORICAL_ROOT: '4' },
  ...{ EPOCHS_PER_HISTORICAL_VECTOR: '8', EPOCHS_PER_SLASHINGS_VECTOR: '8', PTC_SIZE: '2' },
  ...{ ALTAIR_FORK_EPOCH: '0', BELLATRIX_FORK_EPOCH: '0', CAPELLA_FORK_EPOCH: '0', DENEB_FORK_EPOCH: '0' },
}
const rulesOf = (fork: Fork) =>
  readRules({
    ...small,
    ELECTRA_FORK_EPOCH: isForkFrom(fork, 'electra') ? '0' : '999',
    FULU_FORK_EPOCH: isForkFrom(fork, 'fulu') ? '0' : '999',
    GLOAS_FORK_EPOCH: fork === 'gloas' ? '0' : '999',
  })

const uint64 = uintType(8)
const root = bytesType(32)
const pubkey = bytesType(48)
const checkpoint = containerType({ epoch: uint64, root })
const validator = containerType({
  ...{ pubkey, withdrawal_credentials: root, effective_balance: uint64, slashed: bytesType(1) },
  ...{ activation_eligibility_epoch: uint64, activation_epoch: uint64, exit_epoch: uint64, withdrawable_epoch: uint64 },
})
const syncCommittee = containerType({ pubkeys: bytesType(3 * 48), aggregate_pubkey: pubkey })
const deposit = containerType({
  ...{ pubkey, withdrawal_credentials: root, amount: uint64, signature: bytesType(96), slot: uint64 },
})

const bid = containerType({
  ...{ parent_block_hash: root, parent_block_root: root, block_hash: root, prev_randao: root },
  ...{ fee_recipient: bytesType(20), gas_limit: uint64, builder_index: uint64, slot: uint64, value: uint64 },
  ...{ execution_payment: uint64, blob_kzg_commitments: listType(pubkey, 16), execution_requests_root: root },
})

/** The fields of a state in the order of the specifications. */
const stateType = (fork: Fork): SszType =>
  containerType({
    ...{ genesis_time: uint64, genesis_validators_root: root, slot: uint64, fork: bytesType(16) },
    ...{ latest_block_header: bytesType(112), block_roots: bytesType(4 * 32), state_roots: bytesType(4 * 32) },
    ...{ historical_roots: listType(root, 16), eth1_data: bytesType(72), eth1_data_votes: listType(bytesType(72), 16) },
    ...{ eth1_deposit_index: uint64, validators: listType(validator, 16), balances: uint64ListType(16) },
    ...{ randao_mixes: bytesType(8 * 32), slashings: bytesType(8 * 8) },
    ...{ previous_epoch_participation: byteListType(16), current_epoch_participation: byteListType(16) },
    ...{ justification_bits: bytesType(1), previous_justified_checkpoint: checkpoint },
    ...{ current_justified_checkpoint: checkpoint, finalized_checkpoint: checkpoint },
    inactivity_scores: uint64ListType(16),
    ...{ current_sync_committee: syncCommittee, next_sync_committee: syncCommittee },
    ...(fork === 'gloas' ? { latest_block_hash: root } : { latest_execution_payload_header: byteListType(1024) }),
    ...{ next_withdrawal_index: uint64, next_withdrawal_validator_index: uint64 },
    historical_summaries: listType(bytesType(64), 16),
    ...(isForkFrom(fork, 'electra') && {
      ...{ deposit_requests_start_index: uint64, deposit_balance_to_consume: uint64, exit_balance_to_consume: uint64 },
      ...{
        earliest_exit_epoch: uint64,
        consolidation_balance_to_consume: uint64,
        earliest_consolidation_epoch: uint64,
      },
      ...{ pending_deposits: listType(deposit, 16), pending_partial_withdrawals: listType(bytesType(24), 16) },
      pending_consolidations: listType(bytesType(16), 16),
    }),
    ...(isForkFrom(fork, 'fulu') && { proposer_lookahead: bytesType(2 * 4 * 8) }),
    ...(fork === 'gloas' && {
      ...{ builders: listType(bytesType(93), 16), next_withdrawal_builder_index: uint64 },
      ...{ execution_payload_availability: bytesType(1), builder_pending_payments: bytesType(2 * 4 * 52) },
      ...{ builder_pending_withdrawals: listType(bytesType(36), 16), latest_execution_payload_bid: bid },
      ...{ payload_expected_withdrawals: listType(bytesType(44), 16), ptc_window: bytesType(3 * 4 * 2 * 8) },
    }),
  })

const filled = (bytes: number, value: number) => `0x${value.toString(16).padStart(2, '0').repeat(bytes)}`
const uints = (values: readonly number[]) => {
  const bytes = Buffer.alloc(values.length * 8)
  for (const [at, value] of values.entries()) bytes.writeBigUInt64LE(BigInt(value), at * 8)
  return `0x${bytes.toString('hex')}`
}
const keyOf = (index: number) => filled(48, 0xa0 + index)
const seats = (indices: readonly number[]) => ({
  pubkeys: `0x${indices.map((index) => keyOf(index).slice(2)).join('')}`,
  aggregate_pubkey: filled(48, 1),
})

/** Of epochs 8 to 15, or of 0 to 7. */
const mixes = `0x${Array.from({ length: 8 }, (_, at) => filled(32, 0x20 + at).slice(2)).join('')}`

/** Every field has a value of its own, so that a wrong offset is visible. */
const stateJson = {
  ...{ genesis_time: '11', genesis_validators_root: filled(32, 2), slot: '40', fork: filled(16, 3) },
  ...{ latest_block_header: filled(112, 4), block_roots: filled(128, 5), state_roots: filled(128, 6) },
  ...{ historical_roots: [filled(32, 7)], eth1_data: filled(72, 8), eth1_data_votes: [filled(72, 9)] },
  eth1_deposit_index: '12',
  validators: [0, 1, 2, 3].map((index) => ({
    ...{
      pubkey: keyOf(index),
      withdrawal_credentials: filled(32, 1),
      effective_balance: '32000000000',
      slashed: '0x00',
    },
    ...{ activation_eligibility_epoch: '1', activation_epoch: '2', exit_epoch: '3', withdrawable_epoch: '4' },
  })),
  ...{ balances: ['1', '2', '3', '4'], randao_mixes: mixes },
  slashings: uints([0, 32_000_000_000, 0, 5, 0, 0, 2_048_000_000_000, 7]),
  ...{ previous_epoch_participation: '0x01020304', current_epoch_participation: '0x05060708' },
  // Bits 0, 2 and 3.
  justification_bits: '0x0d',
  previous_justified_checkpoint: { epoch: '7', root: filled(32, 11) },
  current_justified_checkpoint: { epoch: '9', root: filled(32, 12) },
  finalized_checkpoint: { epoch: '6', root: filled(32, 13) },
  inactivity_scores: ['0', '4', '0', '8'],
  ...{ current_sync_committee: seats([2, 0, 2]), next_sync_committee: seats([1, 3, 0]) },
  ...{ latest_execution_payload_header: filled(600, 14), latest_block_hash: filled(32, 0x41) },
  ...{ next_withdrawal_index: '13', next_withdrawal_validator_index: '14', historical_summaries: [filled(64, 15)] },
  ...{ deposit_requests_start_index: '15', deposit_balance_to_consume: '16000000000', exit_balance_to_consume: '17' },
  ...{ earliest_exit_epoch: '18', consolidation_balance_to_consume: '19', earliest_consolidation_epoch: '20' },
  pending_deposits: [
    ...[{ pubkey: keyOf(1), withdrawal_credentials: filled(32, 1), amount: '5', signature: filled(96, 1), slot: '39' }],
  ],
  ...{ pending_partial_withdrawals: [filled(24, 16)], pending_consolidations: [filled(16, 0)] },
  proposer_lookahead: uints([3, 2, 1, 0, 0, 1, 2, 3]),
  ...{ builders: [filled(93, 0x42), filled(93, 0x43)], next_withdrawal_builder_index: '21' },
  ...{ execution_payload_availability: '0x05', builder_pending_payments: filled(2 * 4 * 52, 0x44) },
  builder_pending_withdrawals: [filled(36, 0x45)],
  latest_execution_payload_bid: {
    ...{ parent_block_hash: filled(32, 0x46), parent_block_root: filled(32, 0x47), block_hash: filled(32, 0x48) },
    ...{ prev_randao: filled(32, 0x49), fee_recipient: filled(20, 0x4a), gas_limit: '22', builder_index: '23' },
    ...{ slot: '24', value: '25', execution_payment: '26', blob_kzg_commitments: [filled(48, 0x4b)] },
    execution_requests_root: filled(32, 0x4c),
  },
  payload_expected_withdrawals: [filled(44, 0x4d), filled(44, 0x4e), filled(44, 0x4f)],
  ptc_window: uints(Array.from({ length: 24 }, (_, at) => 100 + at)),
}

for (const fork of ['deneb', 'electra', 'fulu', 'gloas'] as const) {
  test(`the parts of a ${fork} state that epoch transitions need are read from its SSZ`, () => {
    const rules = rulesOf(fork)
    const view = new View(new Uint8Array(stateType(fork).fromJson(stateJson, 'state')))
    const { validators } = stateFromSsz(view, rules)
    assert.deepEqual([...(validators.scores ?? [])], [0, 4, 0, 8])
    const isElectra = fork !== 'deneb'
    assert.deepEqual(
      [validators.pending?.deposits.length, validators.pending?.consolidations.length],
      isElectra ? [192, 16] : [0, 0],
    )
    // Slot 40 is in epoch 10, whose duties depend on the mix of epoch 8.
    assert.deepEqual(validators.seeds, {
      mixes: { now: new Uint8Array(32).fill(0x20), next: new Uint8Array(32).fill(0x21) },
      lookahead: isForkFrom(fork, 'fulu') ? Int32Array.of(3, 2, 1, 0, 0, 1, 2, 3) : undefined,
    })
    assert.deepEqual(transitionStateFromSsz(view, rules, validators), {
      justification: { bits: [true, false, true, true], previousJustified: 7, currentJustified: 9, finalized: 6 },
      slashings: Float64Array.of(0, 32_000_000_000, 0, 5, 0, 0, 2_048_000_000_000, 7),
      depositBalanceToConsume: isElectra ? 16_000_000_000 : 0,
      sweep:
        isElectra && fork !== 'gloas'
          ? { partialWithdrawals: new Uint8Array(24).fill(16), nextWithdrawalValidator: 14 }
          : undefined,
      syncCommittees: { now: Uint32Array.of(2, 0, 2), next: Uint32Array.of(1, 3, 0) },
    })
  })
}

test('builders, payments, withdrawals and payload committees of a Gloas state are read from its SSZ', () => {
  const rules = rulesOf('gloas')
  const view = new View(new Uint8Array(stateType('gloas').fromJson(stateJson, 'state')))
  const { payloads } = stateFromSsz(view, rules).validators
  const bytes = (count: number, value: number) => new Uint8Array(count).fill(value)
  assert(payloads)
  assert.deepEqual(payloads, {
    latestBlockHash: filled(32, 0x41),
    latestBid: { slot: 24, blockHash: filled(32, 0x48), value: 25, builder: 23, feeRecipient: filled(20, 0x4a) },
    finalizedEpoch: 6,
    builders: Uint8Array.of(...bytes(93, 0x42), ...bytes(93, 0x43)),
    builderPayments: bytes(2 * 4 * 52, 0x44),
    builderWithdrawals: bytes(36, 0x45),
    partialWithdrawals: bytes(24, 16),
    expectedWithdrawals: Uint8Array.of(...bytes(44, 0x4d), ...bytes(44, 0x4e), ...bytes(44, 0x4f)),
    nextWithdrawalValidator: 14,
    nextWithdrawalBuilder: 21,
    committees: Uint32Array.from({ length: 24 }, (_, at) => 100 + at),
  })
  // Slot 40 is the first of epoch 10; the window starts with epoch 9.
  const committeeOf = (slot: number) => payloadCommitteeOf(payloads, rules, 10, slot)
  assert.deepEqual(committeeOf(36), Uint32Array.of(100, 101))
  assert.deepEqual(committeeOf(41), Uint32Array.of(110, 111))
  assert.deepEqual([committeeOf(35), committeeOf(48)], [undefined, undefined])
})
