// The states of a large network as SSZ, at the first slot of an epoch. Fields that ingest does not read are zero.
import type { ConsensusRules } from '#sources/beacon/consensus.ts'
import { withOffsets } from '#sources/beacon/ssz-type.ts'
import { text } from '../encode-payload.ts'
import { churnFields, type GloasFields, gloasFields, partialWithdrawal } from '../gloas/encode-gloas-state.ts'
import type { SimulatedBuilder } from '../gloas/gloas-records.ts'
import { fixed, hex, u64, variable, zeros } from '../ssz-writer.ts'
import {
  address,
  bidAt,
  deducts,
  mixOf,
  payloadHash,
  paymentFor,
  unpaidSlots,
  withdrawalsAt,
} from './large-payloads.ts'
import type { LargePlan } from './large-plan.ts'

export const validatorSize = 121
const depositSize = 192
/** Deposits that leave the queue in each epoch, and as many that are added. */
const depositsPerEpoch = 8
const far = 2n ** 64n - 1n

/** What does not change from epoch to epoch. */
export function makeValidators({ count, ether, prunesEnvelopes }: LargePlan): Buffer {
  const bytes = Buffer.alloc(count * validatorSize)
  for (let index = 0; index < count; index++) {
    const at = index * validatorSize
    bytes.writeUInt32LE(index, at)
    bytes[at + 48] = prunesEnvelopes ? 0 : ether === 32 ? 1 : 2
    bytes.writeUInt32LE(index, at + 48 + 12)
    bytes.writeBigUInt64LE(BigInt(ether) * 1_000_000_000n, at + 80)
    bytes.writeBigUInt64LE(far, at + 105)
    bytes.writeBigUInt64LE(far, at + 113)
  }
  return bytes
}

export interface StateInput {
  readonly epoch: number
  readonly validators: Buffer
  /** Gwei, encoded. */
  readonly balances: Buffer
  /** Of the block in the slot before that of the state. */
  readonly parentRoot: string
  /** The proposers of this epoch and the next. */
  readonly lookahead: readonly number[]
  /** Since Gloas: the seats of the previous epoch, this one and the next. */
  readonly payloadCommittees: readonly (readonly number[])[]
  /** Since Gloas: gwei. */
  readonly builderBalances: readonly bigint[]
}

export function makeState(plan: LargePlan, rules: ConsensusRules, input: StateInput): Buffer {
  const { epoch } = input
  const slot = epoch * plan.slotsPerEpoch
  const isGloas = plan.fork === 'gloas'
  const flags = Buffer.alloc(plan.count, 7)
  return withOffsets([
    zeros(8 + 32),
    fixed(u64(slot)),
    zeros(16 + 112 + 2 * 32 * rules.historicalRoots),
    variable(Buffer.alloc(0)),
    zeros(72),
    variable(Buffer.alloc(0)),
    zeros(8),
    variable(input.validators),
    variable(input.balances),
    fixed(mixes(rules, epoch)),
    zeros(8 * rules.slashingsVector),
    ...[flags, flags].map(variable),
    fixed(Buffer.from([0b1111])),
    ...[epoch - 2, epoch - 1, epoch - 2].flatMap((at) => [fixed(u64(Math.max(0, at))), zeros(32)]),
    variable(Buffer.alloc(plan.count * 8)),
    zeros(2 * (rules.syncCommitteeSize + 1) * 48),
    isGloas ? fixed(hex(payloadHash(slot - 1))) : variable(Buffer.alloc(584)),
    zeros(16),
    variable(Buffer.alloc(0)),
    fixed(churnFields(undefined)),
    variable(pendingDeposits(plan, epoch)),
    variable(Buffer.concat(Array.from({ length: plan.partialWithdrawals }, (_, validator) => partial(validator)))),
    variable(
      Buffer.concat(
        Array.from({ length: plan.consolidations }, (_, at) => Buffer.concat([u64(2 * at), u64(2 * at + 1)])),
      ),
    ),
    fixed(Buffer.concat(input.lookahead.map(u64))),
    ...(isGloas ? gloasFields(gloasSnapshot(plan, rules, input)) : []),
  ])
}

/** Those that the duties of this epoch and the next depend on. */
function mixes({ historicalMixes }: ConsensusRules, epoch: number): Buffer {
  const bytes = Buffer.alloc(32 * historicalMixes)
  for (const at of [epoch - 2, epoch - 1]) mixOf(at + 1).copy(bytes, 32 * ((at + historicalMixes) % historicalMixes))
  return bytes
}

const partial = (validator: number): Buffer =>
  partialWithdrawal({ validator, gwei: 1_000_000_000n, withdrawable: 2 ** 32 })

/** Deposits for keys that are no validators: the chain drops them at the front of the queue. */
function pendingDeposits({ pendingDeposits: count }: LargePlan, epoch: number): Buffer {
  const bytes = Buffer.alloc(count * depositSize)
  for (let at = 0; at < count; at++) {
    bytes.writeUInt32LE(epoch * depositsPerEpoch + at, at * depositSize)
    bytes[at * depositSize + 47] = 0xdd
    bytes.writeBigUInt64LE(32_000_000_000n, at * depositSize + 80)
    bytes.writeUInt32LE(1, at * depositSize + 184)
  }
  return bytes
}

function gloasSnapshot(
  plan: LargePlan,
  rules: ConsensusRules,
  { epoch, parentRoot, payloadCommittees, builderBalances }: StateInput,
): GloasFields {
  const slot = epoch * plan.slotsPerEpoch
  const firstSlot = slot - plan.slotsPerEpoch
  const quorum = (BigInt(plan.count) * BigInt(plan.ether * rules.increment)) / BigInt(plan.slotsPerEpoch)
  const pending = new Map([...unpaidSlots(plan, slot), slot].map((at) => [at, paymentFor(plan, at)]))
  return {
    builders: builderBalances.map((balance, index) => builder(index, balance)),
    nextBuilder: 0,
    availability: Array.from({ length: rules.historicalRoots }, (_, at) => deducts(plan, at + 1)),
    payments: Array.from({ length: 2 * plan.slotsPerEpoch }, (_, at) => {
      const payment = pending.get(firstSlot + at)
      return payment && { ...payment, slot: firstSlot + at, proposer: 0, weight: firstSlot + at < slot ? quorum : 0n }
    }),
    builderWithdrawals: [],
    bid: bidAt(plan, slot, parentRoot),
    expected: withdrawalsAt(plan, slot),
    payloadCommittees,
  }
}

const builder = (index: number, balance: bigint): SimulatedBuilder => {
  const pubkey = Buffer.alloc(48, 0xb0)
  pubkey.writeUInt32LE(index)
  return {
    ...{ pubkey: text(pubkey), address: address(index), balance },
    ...{ depositEpoch: 1, withdrawable: Number.POSITIVE_INFINITY },
  }
}
