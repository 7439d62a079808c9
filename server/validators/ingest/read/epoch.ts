// What is known about one finalized epoch once it has been read, and before anything is made of it.
import type { Block } from '#sources/beacon/block.ts'
import type { Committees } from '#sources/beacon/committees.ts'
import type { Validators } from '#sources/beacon/validators.ts'

export interface EpochData {
  readonly epoch: number
  /** Of this epoch and the next, in rising order. */
  readonly blocks: readonly Block[]
  readonly committees: Committees
  /** By slot of the epoch; −1 where nobody had to propose. */
  readonly proposers: ArrayLike<number>
  readonly sync: { readonly now: ArrayLike<number>; readonly next: ArrayLike<number> }
  /** At the first slot of this epoch and the next. */
  readonly now: Validators
  readonly next: Validators
  /** As it stood after the next epoch. */
  readonly finalizedEpoch: number
  /** By slot, without blocks of which it cannot be told; undefined: there is no execution source. */
  readonly execution?: ReadonlyMap<number, ExecutionRewards> | undefined
}

export interface ExecutionRewards {
  readonly priorityFee: number
  readonly baselineMev: number
  readonly external: number
}

/** The two states of an epoch and the blocks that lead from one to the other. */
export type EpochStates = Pick<EpochData, 'epoch' | 'now' | 'next' | 'blocks'>
