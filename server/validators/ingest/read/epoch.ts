// The data of one finalized epoch as it was read from nodes.
import type { Block } from '#sources/beacon/block.ts'
import type { Committees } from '#sources/beacon/committees.ts'
import type { Validators } from '#sources/beacon/validators.ts'

export interface EpochData {
  readonly epoch: number
  /** Those of this epoch and the next, in ascending order. */
  readonly blocks: readonly Block[]
  readonly committees: Committees
  /** By slot of the epoch; −1: the slot has no proposer (genesis). */
  readonly proposers: ArrayLike<number>
  readonly sync: { readonly now: ArrayLike<number>; readonly next: ArrayLike<number> }
  /** The validators at the first slot of this epoch, and of the next. */
  readonly now: Validators
  readonly next: Validators
  /** At the end of the next epoch. */
  readonly finalizedEpoch: number
  /** By slot; blocks with unknown rewards have no entry. Undefined: there is no execution node. */
  readonly execution?: ReadonlyMap<number, ExecutionRewards> | undefined
}

/** Gwei. */
export interface ExecutionRewards {
  readonly priorityFee: number
  readonly baselineMev: number
  readonly external: number
}

/** The two states of an epoch and the blocks between them. */
export type EpochStates = Pick<EpochData, 'epoch' | 'now' | 'next' | 'blocks'>
