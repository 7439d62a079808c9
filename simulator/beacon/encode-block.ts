// Simulated blocks as SSZ, and their roots. The layout follows the consensus specifications; fields that ingest does not
// read are zero. Roots are computed with the server's code, which is tested against recorded roots and another
// implementation (forks.test.ts, recording.test.ts).
import { blockTypeOf } from '#sources/beacon/block-type.ts'
import { type Fork, isForkFrom } from '#sources/beacon/consensus.ts'
import { rootOf } from '#sources/beacon/ssz-type.ts'
import { type NetworkPlan, rulesOf } from './plan.ts'
import type { SimulatedAttestation, SimulatedBlock, SimulatedDeposit } from './records.ts'
import { bitsOf, container, fixed, hex, listOf, u64, variable, zeros } from './ssz-writer.ts'

const committeesMax = 8
export const committeeBits = (committees: readonly number[]): Buffer =>
  bitsOf(Array.from({ length: committeesMax }, (_, at) => committees.includes(at)))

function dataOf({ slot, committees, head, targetEpoch, target }: SimulatedAttestation, fork: Fork): Buffer {
  const index = isForkFrom(fork, 'electra') ? 0 : (committees[0] as number)
  return Buffer.concat([u64(slot), u64(index), hex(head), Buffer.alloc(40), u64(targetEpoch), hex(target)])
}

function attestationBytes(attestation: SimulatedAttestation, fork: Fork): Buffer {
  return container([
    variable(bitsOf(attestation.bits, attestation.bits.length, true)),
    fixed(dataOf(attestation, fork)),
    zeros(96),
    ...(isForkFrom(fork, 'electra') ? [fixed(committeeBits(attestation.committees))] : []),
  ])
}

const indexed = (indices: readonly number[]): Buffer =>
  container([variable(Buffer.concat(indices.map(u64))), zeros(128), zeros(96)])

const headerOf = (proposer: number): Buffer => Buffer.concat([u64(1), u64(proposer), Buffer.alloc(96 + 96)])

/** Arbitrary bytes: ingest reads transactions from the execution node. */
export const transactionBytes = (at: number): Buffer => Buffer.alloc(10 + at, 7)

const depositData = ({ pubkey, credentials, gwei }: SimulatedDeposit): Buffer =>
  Buffer.concat([hex(pubkey), hex(credentials), u64(gwei), Buffer.alloc(96)])

/** Since Electra, deposits are execution requests. */
export const depositsIn = ({
  fork,
  deposits,
}: Rootless): { inBody: readonly SimulatedDeposit[]; requests: readonly SimulatedDeposit[] } =>
  isForkFrom(fork, 'electra') ? { inBody: [], requests: deposits } : { inBody: deposits, requests: [] }

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
    fixed(u64(payload.baseFeeWei)),
    zeros(24),
    fixed(hex(payload.hash)),
    variable(listOf(payload.transactions.map((_, at) => transactionBytes(at)))),
    ...(isForkFrom(block.fork, 'capella') ? [variable(Buffer.concat(withdrawals))] : []),
    ...(isForkFrom(block.fork, 'deneb') ? [zeros(16)] : []),
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
  const { inBody, requests } = depositsIn(block)
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
    variable(Buffer.concat(inBody.map((deposit) => Buffer.concat([Buffer.alloc(1056), depositData(deposit)])))),
    variable(Buffer.alloc(0)),
    fixed(bitsOf(block.syncBits)),
    zeros(96),
    ...(isForkFrom(fork, 'bellatrix') ? [variable(payloadBytes(block))] : []),
    ...(isForkFrom(fork, 'capella') ? [variable(Buffer.alloc(0))] : []),
    ...(isForkFrom(fork, 'deneb') ? [variable(Buffer.alloc(0))] : []),
    ...(isForkFrom(fork, 'electra') ? [variable(listOf([requestBytes(requests), ...noRequests]))] : []),
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

export const bodyRootOf = (block: SimulatedBlock, plan: NetworkPlan): string =>
  bodyRoots.getOrInsertComputed(block, () =>
    rootOf(blockTypeOf(block.fork, rulesOf(plan)).message.fields.body, bodyBytes(block)),
  )
