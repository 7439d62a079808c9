// How the validators of a simulated network behave: their mistakes, and operations such as slashings and deposits.
// simulator/validators/behaviour.ts has the behaviour of the demo.
import type { SeededRandom } from '../seeded-random.ts'
import type { ChainState } from './chain.ts'
import type { PayloadDelivery, SimulatedBid } from './gloas/gloas-records.ts'
import type { Identity } from './records.ts'

export const noMistakes = {
  noVote: 0,
  /** The vote is included later than possible. */
  late: 0,
  wrongHead: 0,
  wrongTarget: 0,
  /** The same vote is included twice. */
  repeated: 0,
  /** Casts two votes. */
  doubled: 0,
  /** Votes for an orphaned block, if there is one. */
  orphanHead: 0,
  /** Proposes no block. */
  missed: 0,
  /** Proposes a block that becomes orphaned. */
  orphaned: 0,
  /** Misses a sync committee signature. */
  unsigned: 0,
  // Since Gloas:
  /** Votes for the block before the newest one. */
  oldHead: 0,
  /** Votes for the opposite of what is known about the payload of an earlier block. */
  wrongPayload: 0,
  /** As a member of the payload committee. */
  noPayloadVote: 0,
  wrongPayloadVote: 0,
}

/** Probabilities for each duty. */
export type MistakeRates = Readonly<typeof noMistakes>

/** The contents of a block besides votes. */
export const noOperations = {
  proposerSlashings: [] as readonly number[],
  /** All of them in one slashing. */
  attesterSlashings: [] as readonly number[],
  exits: [] as readonly number[],
  consolidations: [] as readonly { readonly from: number; readonly to: number }[],
  /** `from`: the sender, if it is not the validator's depositor. */
  deposits: [] as readonly { readonly validator: number | 'new'; readonly gwei: bigint; readonly from?: string }[],
  /** Excess balances are withdrawn. Since Gloas, that is up to the chain. */
  sweeps: false,
  // Since Gloas. Besides changes of credentials, they are requests in the payload, as are consolidations and deposits.
  requestedExits: [] as readonly number[],
  partialWithdrawals: [] as readonly { readonly validator: number; readonly gwei: bigint }[],
  /** To compounding credentials. */
  switches: [] as readonly number[],
  credentialsChanges: [] as readonly number[],
  builderDeposits: [] as readonly { readonly builder: number | 'new'; readonly gwei: bigint }[],
  builderExits: [] as readonly number[],
}

export type BlockOperations = Readonly<typeof noOperations>

export interface SlotContext {
  readonly slot: number
  readonly epoch: number
  readonly proposer: number
  /** The first block of the epoch. */
  readonly isFirst: boolean
  /** The members of the known sync committees. */
  readonly seated: ReadonlySet<number>
}

/** Who builds a payload, what is bid, and whether it is published. */
export interface PayloadPlan extends Pick<SimulatedBid, 'builder' | 'value' | 'executionPayment'> {
  readonly delivery: PayloadDelivery
}

export interface Behaviour {
  mistakeRates(validator: number, epoch: number): MistakeRates
  operationsAt(at: SlotContext, chain: ChainState, draws: SeededRandom): BlockOperations
  /** Undefined: the proposer is random. */
  proposer(slot: number): number | undefined
  newValidator(index: number, draws: SeededRandom): Identity
  /** Whether the slot has no block, whoever its proposer is. Default: that follows from the mistakes. */
  isEmpty?(slot: number): boolean
  /** Since Gloas. Default: proposers build all payloads and publish them in time. */
  payloadAt?(at: SlotContext, chain: ChainState, draws: SeededRandom): PayloadPlan
}
