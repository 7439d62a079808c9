// Encodes simulated blocks and states as SSZ and JSON. The layout follows the consensus specifications; fields that
// ingest does not read are zero. Roots are computed with the server's code, which is tested against recorded roots and
// another implementation (forks.test.ts, recording.test.ts).

import { blockTypeOf } from '#sources/beacon/block-type.ts'
import { type Fork, forks } from '#sources/beacon/consensus.ts'
import { rootOf } from '#sources/beacon/ssz-type.ts'
import { forkOf, type NetworkPlan, rulesOf } from './plan.ts'
import type {
  SimulatedAttestation,
  SimulatedBlock,
  SimulatedDeposit,
  SimulatedPendingDeposit,
  SimulatedValidator,
  Snapshot,
} from './records.ts'

/** A field of a container: of fixed length, or variable with an offset. */
type Part = { readonly fixed: Buffer } | { readonly variable: Buffer }

const fixed = (bytes: Buffer): Part => ({ fixed: bytes })
const variable = (bytes: Buffer): Part => ({ variable: bytes })
const zeros = (count: number): Part => fixed(Buffer.alloc(count))
const hex = (text: string): Buffer => Buffer.from(text.slice(2), 'hex')

function u64(value: number | bigint): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(value === Number.POSITIVE_INFINITY ? 2n ** 64n - 1n : BigInt(value))
  return bytes
}

function container(parts: readonly Part[]): Buffer {
  let offset = parts.reduce((sum, part) => sum + ('fixed' in part ? part.fixed.length : 4), 0)
  const heads: Buffer[] = []
  const tails: Buffer[] = []
  for (const part of parts) {
    if ('fixed' in part) {
      heads.push(part.fixed)
      continue
    }
    const pointer = Buffer.alloc(4)
    pointer.writeUInt32LE(offset)
    heads.push(pointer)
    tails.push(part.variable)
    offset += part.variable.length
  }
  return Buffer.concat([...heads, ...tails])
}

const listOf = (members: readonly Buffer[]): Buffer => container(members.map(variable))

function bitsOf(bits: readonly boolean[], length = bits.length, end = false): Buffer {
  const bytes = Buffer.alloc(end ? Math.floor(length / 8) + 1 : Math.ceil(length / 8))
  const set = (at: number) => {
    bytes[at >> 3] = (bytes[at >> 3] as number) | (1 << (at & 7))
  }
  bits.forEach((bit, at) => {
    if (bit) set(at)
  })
  if (end) set(length)
  return bytes
}

const isFrom = (fork: Fork, since: Fork): boolean => forks.indexOf(fork) >= forks.indexOf(since)
const committeesMax = 8
const committeeBits = (committees: readonly number[]): Buffer =>
  bitsOf(Array.from({ length: committeesMax }, (_, at) => committees.includes(at)))

function dataOf({ slot, committees, head, targetEpoch, target }: SimulatedAttestation, fork: Fork): Buffer {
  const index = isFrom(fork, 'electra') ? 0 : (committees[0] as number)
  return Buffer.concat([u64(slot), u64(index), hex(head), Buffer.alloc(40), u64(targetEpoch), hex(target)])
}

function attestationBytes(attestation: SimulatedAttestation, fork: Fork): Buffer {
  return container([
    variable(bitsOf(attestation.bits, attestation.bits.length, true)),
    fixed(dataOf(attestation, fork)),
    zeros(96),
    ...(isFrom(fork, 'electra') ? [fixed(committeeBits(attestation.committees))] : []),
  ])
}

const indexed = (indices: readonly number[]): Buffer =>
  container([variable(Buffer.concat(indices.map(u64))), zeros(128), zeros(96)])

const headerOf = (proposer: number): Buffer => Buffer.concat([u64(1), u64(proposer), Buffer.alloc(96 + 96)])

/** Arbitrary bytes: ingest reads transactions from the execution node. */
const transactionBytes = (at: number): Buffer => Buffer.alloc(10 + at, 7)

const depositData = ({ pubkey, credentials, gwei }: SimulatedDeposit): Buffer =>
  Buffer.concat([hex(pubkey), hex(credentials), u64(gwei), Buffer.alloc(96)])

/** Since Electra, deposits are execution requests. */
const depositsIn = ({
  fork,
  deposits,
}: Rootless): { own: readonly SimulatedDeposit[]; requests: readonly SimulatedDeposit[] } =>
  isFrom(fork, 'electra') ? { own: [], requests: deposits } : { own: deposits, requests: [] }

function payloadBytes(block: Rootless): Buffer {
  const { payload } = block
  const withdrawals = block.withdrawals.map(({ validator, amount }) =>
    Buffer.concat([u64(0), u64(validator), Buffer.alloc(20), u64(amount)]),
  )
  return container([
    zeros(32),
    fixed(hex(payload.feeRecipient)),
    zeros(32 + 32 + 256),
    fixed(hex(payload.prevRandao)),
    fixed(u64(payload.number)),
    zeros(24),
    variable(Buffer.alloc(0)),
    zeros(32),
    fixed(hex(payload.hash)),
    variable(listOf(payload.transactions.map((_, at) => transactionBytes(at)))),
    ...(isFrom(block.fork, 'capella') ? [variable(Buffer.concat(withdrawals))] : []),
    ...(isFrom(block.fork, 'deneb') ? [zeros(16)] : []),
  ])
}

const requestBytes = (requests: readonly SimulatedDeposit[]): Buffer =>
  Buffer.concat(requests.map((deposit, at) => Buffer.concat([depositData(deposit), u64(at)])))
/** Withdrawal and consolidation requests. */
const noRequests = [Buffer.alloc(0), Buffer.alloc(0)]

/** A block before its root is known. */
export type Rootless = Omit<SimulatedBlock, 'root'>

function bodyBytes(block: Rootless): Buffer {
  const { fork } = block
  const { own, requests } = depositsIn(block)
  return container([
    zeros(96 + 72 + 32),
    variable(Buffer.concat(block.proposerSlashings.map((index) => Buffer.concat([headerOf(index), headerOf(index)])))),
    variable(
      listOf(
        block.attesterSlashings.map(({ first, second }) =>
          container([variable(indexed(first)), variable(indexed(second))]),
        ),
      ),
    ),
    variable(listOf(block.attestations.map((attestation) => attestationBytes(attestation, fork)))),
    variable(Buffer.concat(own.map((deposit) => Buffer.concat([Buffer.alloc(1056), depositData(deposit)])))),
    variable(Buffer.alloc(0)),
    fixed(bitsOf(block.syncBits)),
    zeros(96),
    ...(isFrom(fork, 'bellatrix') ? [variable(payloadBytes(block))] : []),
    ...(isFrom(fork, 'capella') ? [variable(Buffer.alloc(0))] : []),
    ...(isFrom(fork, 'deneb') ? [variable(Buffer.alloc(0))] : []),
    ...(isFrom(fork, 'electra') ? [variable(listOf([requestBytes(requests), ...noRequests]))] : []),
  ])
}

const messageBytes = (block: Rootless): Buffer =>
  container([
    fixed(Buffer.concat([u64(block.slot), u64(block.proposer), hex(block.parentRoot), Buffer.alloc(32)])),
    variable(bodyBytes(block)),
  ])

export const blockBytes = (block: SimulatedBlock): Buffer => container([variable(messageBytes(block)), zeros(96)])

export const blockRootOf = (block: Rootless, plan: NetworkPlan): string =>
  rootOf(blockTypeOf(block.fork, rulesOf(plan)).message, messageBytes(block))

const bodyRoots = new WeakMap<SimulatedBlock, string>()

function bodyRootOf(block: SimulatedBlock, plan: NetworkPlan): string {
  const root =
    bodyRoots.get(block) ?? rootOf(blockTypeOf(block.fork, rulesOf(plan)).message.fields.body, bodyBytes(block))
  bodyRoots.set(block, root)
  return root
}

export const headerJson = (block: SimulatedBlock, plan: NetworkPlan) => ({
  slot: String(block.slot),
  proposer_index: String(block.proposer),
  parent_root: block.parentRoot,
  state_root: root0,
  body_root: bodyRootOf(block, plan),
})

const text = (bytes: Buffer): string => `0x${bytes.toString('hex')}`
const root0 = text(Buffer.alloc(32))

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
    index: isFrom(fork, 'electra') ? '0' : String(attestation.committees[0]),
    beacon_block_root: attestation.head,
    target: { epoch: String(attestation.targetEpoch), root: attestation.target },
  },
  signature: zeroText(96),
  ...(isFrom(fork, 'electra') && { committee_bits: text(committeeBits(attestation.committees)) }),
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
  base_fee_per_gas: '0',
  block_hash: payload.hash,
  transactions: payload.transactions.map((_, at) => text(transactionBytes(at))),
  ...(isFrom(fork, 'capella') && {
    withdrawals: withdrawals.map(({ validator, amount }) => ({
      index: '0',
      validator_index: String(validator),
      address: zeroText(20),
      amount: String(amount),
    })),
  }),
  ...(isFrom(fork, 'deneb') && { blob_gas_used: '0', excess_blob_gas: '0' }),
})

export function blockJson(block: SimulatedBlock): unknown {
  const { fork } = block
  const { own, requests } = depositsIn(block)
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
    deposits: own.map((deposit) => ({ proof: new Array(33).fill(root0), data: depositJson(deposit) })),
    voluntary_exits: [],
    sync_aggregate: {
      sync_committee_bits: text(bitsOf(block.syncBits)),
      sync_committee_signature: zeroText(96),
    },
    ...(isFrom(fork, 'bellatrix') && { execution_payload: payloadJson(block) }),
    ...(isFrom(fork, 'capella') && { bls_to_execution_changes: [] }),
    ...(isFrom(fork, 'deneb') && { blob_kzg_commitments: [] }),
    ...(isFrom(fork, 'electra') && {
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

const record = (validator: Readonly<SimulatedValidator>): Buffer =>
  Buffer.concat([
    hex(validator.pubkey),
    hex(validator.credentials),
    u64(validator.effective),
    Buffer.from([validator.slashed ? 1 : 0]),
    ...[validator.eligible, validator.activation, validator.exit, validator.withdrawable].map(u64),
  ])

export function stateBytes(slot: number, snapshot: Snapshot, plan: NetworkPlan): Buffer {
  const { validators, finalized, justified, previousJustified, queue, consolidations, syncCommittees } = snapshot
  const fork = forkOf(plan, Math.floor(slot / plan.slotsPerEpoch))
  const lookahead = Array.from({ length: 2 * plan.slotsPerEpoch }, (_, at) => snapshot.lookahead[at] ?? 0)
  return container([
    zeros(8 + 32),
    fixed(u64(slot)),
    zeros(16 + 112 + 2 * 32 * 16),
    variable(Buffer.alloc(0)),
    zeros(72),
    variable(Buffer.alloc(0)),
    zeros(8),
    variable(Buffer.concat(validators.map(record))),
    variable(Buffer.concat(validators.map(({ balance }) => u64(balance)))),
    zeros(32 * 16),
    fixed(Buffer.concat(snapshot.slashings.map(u64))),
    variable(Buffer.from(validators.map(({ previous }) => previous))),
    variable(Buffer.from(validators.map(({ current }) => current))),
    fixed(bitsOf(snapshot.justificationBits, 8)),
    ...[previousJustified, justified].flatMap((epoch) => [fixed(u64(epoch)), zeros(32)]),
    fixed(u64(finalized)),
    zeros(32),
    variable(Buffer.concat(validators.map(({ score }) => u64(score)))),
    ...[syncCommittees.now, syncCommittees.next].flatMap((seats) => [
      ...seats.map((index) => fixed(hex((validators[index] as SimulatedValidator).pubkey))),
      zeros(48),
    ]),
    ...(isFrom(fork, 'bellatrix') ? [variable(Buffer.alloc(584))] : []),
    ...(isFrom(fork, 'capella') ? [zeros(16), variable(Buffer.alloc(0))] : []),
    ...(isFrom(fork, 'electra')
      ? [
          zeros(48),
          variable(Buffer.concat(queue.map(pendingDeposit))),
          variable(Buffer.alloc(0)),
          variable(Buffer.concat(consolidations.map(({ from, to }) => Buffer.concat([u64(from), u64(to)])))),
        ]
      : []),
    ...(isFrom(fork, 'fulu') ? [fixed(Buffer.concat(lookahead.map(u64)))] : []),
  ])
}

const pendingDeposit = ({ pubkey, credentials, gwei, slot }: SimulatedPendingDeposit): Buffer =>
  Buffer.concat([hex(pubkey), hex(credentials), u64(gwei), Buffer.alloc(96), u64(slot)])

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
