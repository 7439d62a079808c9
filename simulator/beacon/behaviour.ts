// How the validators of a simulated network behave: their mistakes, and operations such as slashings and deposits.
// simulator/validators/behaviour.ts has the behaviour of the demo.
import type { SeededRandom } from '../seeded-random.ts'
import type { ChainState } from './chain.ts'
import type { Identity } from './records.ts'

export type { Identity }

/** Probabilities for each duty. */
export interface MistakeRates {
  readonly noVote: number
  /** The vote is included later than possible. */
  readonly late: number
  readonly wrongHead: number
  readonly wrongTarget: number
  /** The same vote is included twice. */
  readonly repeated: number
  /** Casts two votes. */
  readonly doubled: number
  /** Votes for an orphaned block, if there is one. */
  readonly orphanHead: number
  /** Proposes no block. */
  readonly missed: number
  /** Proposes a block that becomes orphaned. */
  readonly orphaned: number
  /** Misses a sync committee signature. */
  readonly unsigned: number
}

export const noMistakes: MistakeRates = {
  noVote: 0,
  late: 0,
  wrongHead: 0,
  wrongTarget: 0,
  repeated: 0,
  doubled: 0,
  orphanHead: 0,
  missed: 0,
  orphaned: 0,
  unsigned: 0,
}

/** The contents of a block besides votes. */
export interface BlockOperations {
  readonly proposerSlashings: readonly number[]
  /** All of them in one slashing. */
  readonly attesterSlashings: readonly number[]
  readonly exits: readonly number[]
  readonly consolidations: readonly { readonly from: number; readonly to: number }[]
  /** `from`: the sender, if it is not the validator's depositor. */
  readonly deposits: readonly { readonly validator: number | 'new'; readonly gwei: bigint; readonly from?: string }[]
  /** Excess balances are withdrawn. */
  readonly sweeps: boolean
}

export const noOperations: BlockOperations = {
  proposerSlashings: [],
  attesterSlashings: [],
  exits: [],
  consolidations: [],
  deposits: [],
  sweeps: false,
}

export interface SlotContext {
  readonly slot: number
  readonly epoch: number
  readonly proposer: number
  /** The first block of the epoch. */
  readonly isFirst: boolean
  /** The members of the known sync committees. */
  readonly seated: ReadonlySet<number>
}

export interface Behaviour {
  mistakeRates(validator: number, epoch: number): MistakeRates
  operationsAt(at: SlotContext, chain: ChainState, draws: SeededRandom): BlockOperations
  /** Undefined: the proposer is random. */
  proposer(slot: number): number | undefined
  newValidator(index: number, draws: SeededRandom): Identity
}
