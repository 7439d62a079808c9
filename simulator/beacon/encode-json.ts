// Simulated blocks, headers, validators and queues as JSON, as the Beacon API defines them.
import { type Fork, isForkFrom } from '#sources/beacon/consensus.ts'
import { bodyRootOf, committeeBits, depositsIn, transactionBytes } from './encode-block.ts'
import type { NetworkPlan } from './plan.ts'
import type { SimulatedAttestation, SimulatedBlock, SimulatedDeposit, SimulatedValidator, Snapshot } from './records.ts'
import { bitsOf } from './ssz-writer.ts'

const text = (bytes: Buffer): string => `0x${bytes.toString('hex')}`
const root0 = text(Buffer.alloc(32))

export const headerJson = (block: SimulatedBlock, plan: NetworkPlan) => ({
  slot: String(block.slot),
  proposer_index: String(block.proposer),
  parent_root: block.parentRoot,
  state_root: root0,
  body_root: bodyRootOf(block, plan),
})

const depositJson = ({ pubkey, credentials, gwei }: SimulatedDeposit) => ({
  pubkey,
  withdrawal_credentials: credentials,
  amount: String(gwei),
  signature: zeroText(96),
})

const zeroText = (bytes: number): string => text(Buffer.alloc(bytes))

const attestationJson = (attestation: SimulatedAttestation, fork: Fork) => ({
  aggregation_bits: text(bitsOf(attestation.bits, attestation.bits.length, true)),
  data: {
    ...dataJson,
    slot: String(attestation.slot),
    index: isForkFrom(fork, 'electra') ? '0' : String(attestation.committees[0]),
    beacon_block_root: attestation.head,
    target: { epoch: String(attestation.targetEpoch), root: attestation.target },
  },
  signature: zeroText(96),
  ...(isForkFrom(fork, 'electra') && { committee_bits: text(committeeBits(attestation.committees)) }),
})

const checkpoint0 = { epoch: '0', root: root0 }
const dataJson = { slot: '0', index: '0', beacon_block_root: root0, source: checkpoint0, target: checkpoint0 }

const signedHeaderJson = (index: number) => ({
  message: { slot: '1', proposer_index: String(index), parent_root: root0, state_root: root0, body_root: root0 },
  signature: zeroText(96),
})

const indexedJson = (indices: readonly number[]) => ({
  attesting_indices: indices.map(String),
  data: dataJson,
  signature: zeroText(96),
})

const payloadJson = ({ fork, payload, withdrawals }: SimulatedBlock) => ({
  parent_hash: root0,
  fee_recipient: payload.feeRecipient,
  state_root: root0,
  receipts_root: root0,
  logs_bloom: zeroText(256),
  prev_randao: payload.prevRandao,
  block_number: String(payload.number),
  gas_limit: '0',
  gas_used: '0',
  timestamp: '0',
  extra_data: '0x',
  base_fee_per_gas: String(payload.baseFeeWei),
  block_hash: payload.hash,
  transactions: payload.transactions.map((_, at) => text(transactionBytes(at))),
  ...(isForkFrom(fork, 'capella') && {
    withdrawals: withdrawals.map(({ validator, amount }) => ({
      index: '0',
      validator_index: String(validator),
      address: zeroText(20),
      amount: String(amount),
    })),
  }),
  ...(isForkFrom(fork, 'deneb') && { blob_gas_used: '0', excess_blob_gas: '0' }),
})

export function blockJson(block: SimulatedBlock): unknown {
  const { fork } = block
  const { inBody, requests } = depositsIn(block)
  const body = {
    randao_reveal: zeroText(96),
    eth1_data: { deposit_root: root0, deposit_count: '0', block_hash: root0 },
    graffiti: root0,
    proposer_slashings: block.proposerSlashings.map((index) => ({
      signed_header_1: signedHeaderJson(index),
      signed_header_2: signedHeaderJson(index),
    })),
    attester_slashings: block.attesterSlashings.map(({ first, second }) => ({
      attestation_1: indexedJson(first),
      attestation_2: indexedJson(second),
    })),
    attestations: block.attestations.map((attestation) => attestationJson(attestation, fork)),
    deposits: inBody.map((deposit) => ({ proof: new Array(33).fill(root0), data: depositJson(deposit) })),
    voluntary_exits: [],
    sync_aggregate: {
      sync_committee_bits: text(bitsOf(block.syncBits)),
      sync_committee_signature: zeroText(96),
    },
    ...(isForkFrom(fork, 'bellatrix') && { execution_payload: payloadJson(block) }),
    ...(isForkFrom(fork, 'capella') && { bls_to_execution_changes: [] }),
    ...(isForkFrom(fork, 'deneb') && { blob_kzg_commitments: [] }),
    ...(isForkFrom(fork, 'electra') && {
      execution_requests: {
        deposits: requests.map((deposit, at) => ({ ...depositJson(deposit), index: String(at) })),
        withdrawals: [],
        consolidations: [],
      },
    }),
  }
  const { slot, proposer, parentRoot } = block
  const message = { slot: String(slot), proposer_index: String(proposer), parent_root: parentRoot, state_root: root0 }
  return { message: { ...message, body }, signature: zeroText(96) }
}

export const pendingDepositsJson = ({ queue }: Snapshot) =>
  queue.map(({ pubkey, credentials, gwei, slot }) => ({
    pubkey,
    withdrawal_credentials: credentials,
    amount: String(gwei),
    signature: zeroText(96),
    slot: String(slot),
  }))

export const pendingConsolidationsJson = ({ consolidations }: Snapshot) =>
  consolidations.map(({ from, to }) => ({ source_index: String(from), target_index: String(to) }))

const epochText = (epoch: number): string =>
  epoch === Number.POSITIVE_INFINITY ? '18446744073709551615' : String(epoch)

export const validatorJson = (validator: Readonly<SimulatedValidator>, index: number): unknown => ({
  index: String(index),
  balance: String(validator.balance),
  status: 'active_ongoing',
  validator: {
    pubkey: validator.pubkey,
    withdrawal_credentials: validator.credentials,
    effective_balance: String(validator.effective),
    slashed: validator.slashed,
    activation_eligibility_epoch: epochText(validator.eligible),
    activation_epoch: epochText(validator.activation),
    exit_epoch: epochText(validator.exit),
    withdrawable_epoch: epochText(validator.withdrawable),
  },
})
