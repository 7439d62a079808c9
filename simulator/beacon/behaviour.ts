// How the validators of a simulated network behave: their mistakes, and operations such as slashings and deposits.
// simulator/validators/behaviour.ts has the behaviour of the demo.
import type { SeededRandom } from '../seeded-random.ts'
import type { ChainState } from './chain.ts'
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
  /** Excess balances are withdrawn. */
  sweeps: false,
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

export interface Behaviour {
  mistakeRates(validator: number, epoch: number): MistakeRates
  operationsAt(at: SlotContext, chain: ChainState, draws: SeededRandom): BlockOperations
  /** Undefined: the proposer is random. */
  proposer(slot: number): number | undefined
  newValidator(index: number, draws: SeededRandom): Identity
}
