// Simulated blocks, validators, queues, duties and rewards as JSON, as the Beacon API defines them. Fields that ingest
// does not read are zero.
import { type Fork, isForkFrom } from '#sources/beacon/consensus.ts'
import { infinitySignature, payloadJson, type Rootless, root0, text, zeroText } from './encode-payload.ts'
import { credentialsChangeJson, exitJson, gloasBodyJson } from './gloas/encode-gloas.ts'
import type { NetworkPlan } from './plan.ts'
import type {
  EpochRecord,
  SimulatedAttestation,
  SimulatedBlock,
  SimulatedDeposit,
  SimulatedPendingDeposit,
  SimulatedValidator,
  Snapshot,
} from './records.ts'
import { bitsOf } from './ssz-writer.ts'

const depositJson = ({
  pubkey,
  credentials,
  gwei,
  isExcess,
}: Pick<SimulatedDeposit, 'pubkey' | 'credentials' | 'gwei'> & Pick<SimulatedPendingDeposit, 'isExcess'>) => ({
  pubkey,
  withdrawal_credentials: credentials,
  amount: String(gwei),
  signature: isExcess ? infinitySignature : zeroText(96),
})

const committeesMax = 8
const committeeBits = (committees: readonly number[]): Buffer =>
  bitsOf(Array.from({ length: committeesMax }, (_, at) => committees.includes(at)))

const attestationJson = (attestation: SimulatedAttestation, fork: Fork) => ({
  aggregation_bits: text(bitsOf(attestation.bits, attestation.bits.length, true)),
  data: {
    ...dataJson,
    slot: String(attestation.slot),
    index: String(isForkFrom(fork, 'electra') ? attestation.index : attestation.committees[0]),
    beacon_block_root: attestation.head,
    target: { epoch: String(attestation.targetEpoch), root: attestation.target },
  },
  signature: zeroText(96),
  ...(isForkFrom(fork, 'electra') && { committee_bits: text(committeeBits(attestation.committees)) }),
})

const checkpoint0 = { epoch: '0', root: root0 }
const dataJson = { slot: '0', index: '0', beacon_block_root: root0, source: checkpoint0, target: checkpoint0 }

const signedHeaderJson = (index: number, slot: number) => ({
  message: {
    slot: String(slot),
    proposer_index: String(index),
    parent_root: root0,
    state_root: root0,
    body_root: root0,
  },
  signature: zeroText(96),
})

const indexedJson = (indices: readonly number[]) => ({
  attesting_indices: indices.map(String),
  data: dataJson,
  signature: zeroText(96),
})

export function bodyJson(block: Rootless): unknown {
  const { fork, deposits, gloas } = block
  // Since Electra, deposits are execution requests.
  const [inBody, requests] = isForkFrom(fork, 'electra') ? [[], deposits] : [deposits, []]
  return {
    randao_reveal: zeroText(96),
    eth1_data: { deposit_root: root0, deposit_count: '0', block_hash: root0 },
    graffiti: root0,
    proposer_slashings: block.proposerSlashings.map((index, at) => ({
      signed_header_1: signedHeaderJson(index, block.slashedSlots?.[at] ?? 1),
      signed_header_2: signedHeaderJson(index, block.slashedSlots?.[at] ?? 1),
    })),
    attester_slashings: block.attesterSlashings.map(({ first, second }) => ({
      attestation_1: indexedJson(first),
      attestation_2: indexedJson(second),
    })),
    attestations: block.attestations.map((attestation) => attestationJson(attestation, fork)),
    deposits: inBody.map((deposit) => ({ proof: new Array(33).fill(root0), data: depositJson(deposit) })),
    voluntary_exits: gloas?.exits.map(exitJson) ?? [],
    sync_aggregate: {
      sync_committee_bits: text(bitsOf(block.syncBits)),
      sync_committee_signature: zeroText(96),
    },
    ...(isForkFrom(fork, 'bellatrix') && !gloas && { execution_payload: payloadJson(block) }),
    ...(isForkFrom(fork, 'capella') && {
      bls_to_execution_changes: gloas?.credentialsChanges.map(credentialsChangeJson) ?? [],
    }),
    ...(isForkFrom(fork, 'deneb') && !gloas && { blob_kzg_commitments: [] }),
    ...(gloas && gloasBodyJson(gloas)),
    ...(isForkFrom(fork, 'electra') &&
      !gloas && {
        execution_requests: {
          deposits: requests.map((deposit, at) => ({ ...depositJson(deposit), index: String(at) })),
          withdrawals: [],
          consolidations: [],
        },
      }),
  }
}

/** The fields that a block shares with its header. */
export const headJson = ({ slot, proposer, parentRoot }: Rootless) => ({
  slot: String(slot),
  proposer_index: String(proposer),
  parent_root: parentRoot,
  state_root: root0,
})

export const messageJson = (block: Rootless) => ({ ...headJson(block), body: bodyJson(block) })

export const blockJson = (block: SimulatedBlock) => ({ message: messageJson(block), signature: zeroText(96) })

export const pendingDepositsJson = ({ queue }: Snapshot) =>
  queue.map((deposit) => ({ ...depositJson(deposit), slot: String(deposit.slot) }))

export const pendingPartialWithdrawalsJson = ({ gloas }: Snapshot) =>
  gloas?.partials.map(({ validator, gwei, withdrawable }) => ({
    ...{ validator_index: String(validator), amount: String(gwei), withdrawable_epoch: String(withdrawable) },
  })) ?? []

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

export const committeesJson = ({ epoch, committees }: EpochRecord, plan: NetworkPlan) =>
  committees.map((members, at) => ({
    index: String(at % plan.committeesPerSlot),
    slot: String(epoch * plan.slotsPerEpoch + Math.floor(at / plan.committeesPerSlot)),
    validators: members.map(String),
  }))

export const proposerDutiesJson = ({ epoch, proposers }: EpochRecord) =>
  proposers.map((index, at) => ({ slot: String(epoch * proposers.length + at), validator_index: String(index) }))

export const syncDutiesJson = ({ sync }: EpochRecord, requested: ReadonlySet<number>) =>
  [...Map.groupBy([...sync.entries()], ([, index]) => index)]
    .filter(([index]) => requested.has(index))
    .map(([index, ownSeats]) => ({
      validator_index: String(index),
      validator_sync_committee_indices: ownSeats.map(([seat]) => String(seat)),
    }))

/** A validator may have several seats of one slot, but has one duty. */
export const payloadDutiesJson = (
  { epoch, payloadCommittees }: EpochRecord,
  validators: Snapshot['validators'],
  requested: ReadonlySet<number>,
) =>
  payloadCommittees.flatMap((seats, at) =>
    [...new Set(seats)]
      .filter((index) => requested.has(index))
      .map((index) => ({
        pubkey: validators[index]?.pubkey,
        validator_index: String(index),
        slot: String(epoch * payloadCommittees.length + at),
      })),
  )

export const attesterDutiesJson = (
  { epoch, committees }: EpochRecord,
  { slotsPerEpoch, committeesPerSlot }: NetworkPlan,
  requested: ReadonlySet<number>,
) =>
  committees.flatMap((members, at) =>
    members
      .map((index, position) => ({
        validator_index: String(index),
        committee_index: String(at % committeesPerSlot),
        committee_length: String(members.length),
        committees_at_slot: String(committeesPerSlot),
        validator_committee_index: String(position),
        slot: String(epoch * slotsPerEpoch + Math.floor(at / committeesPerSlot)),
      }))
      .filter(({ validator_index }) => requested.has(Number(validator_index))),
  )

/** `requested`: empty means all validators. */
export const voteRewards = ({ paid }: EpochRecord, requested: ReadonlySet<number>) => ({
  ideal_rewards: [],
  total_rewards: [...paid]
    .filter(([index]) => requested.size === 0 || requested.has(index))
    .map(([index, { source, target, head, inactivity }]) => ({
      validator_index: String(index),
      head: String(head),
      target: String(target),
      source: String(source),
      inactivity: String(inactivity),
    })),
})

export const blockReward = ({ proposer, rewards }: SimulatedBlock) => ({
  proposer_index: String(proposer),
  total: String(rewards.votes + rewards.sync + rewards.slashings),
  attestations: String(rewards.votes),
  sync_aggregate: String(rewards.sync),
  proposer_slashings: String(rewards.slashings),
  attester_slashings: '0',
})

export const syncRewards = ({ syncBits, rewards }: SimulatedBlock, seats: readonly number[]) =>
  seats.map((index, seat) => ({
    validator_index: String(index),
    reward: String(syncBits[seat] ? rewards.seat : -rewards.seat),
  }))
