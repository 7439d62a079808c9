// The data of one finalized epoch as it was read from nodes.
import type { Block } from '#sources/beacon/block.ts'
import type { Committees } from '#sources/beacon/committees.ts'
import type { Validators } from '#sources/beacon/validators.ts'
import type { EpochPayloads } from './payloads.ts'

/** Since Gloas. */
export interface EpochLinks extends Partial<EpochPayloads> {
  /** The block before `blocks`, if the epoch starts with an empty slot. Undefined: it is the genesis block. */
  readonly parent?: Block | undefined
  /** The block after `blocks`, if the next epoch has none. */
  readonly child?: Block | undefined
}

export interface EpochData extends EpochLinks {
  readonly epoch: number
  /** Those of this epoch and the next, in ascending order. */
  readonly blocks: readonly Block[]
  readonly committees: Committees
  /** By slot of the epoch; −1: the slot has no proposer (genesis). */
  readonly proposers: ArrayLike<number>
  readonly sync: { readonly now: ArrayLike<number>; readonly next: ArrayLike<number> }
  /** The validators at the first slot of this epoch, and of the next. */
  readonly atStart: Validators
  readonly atEnd: Validators
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

/** The two states of an epoch, and the blocks of this epoch and the next. */
export type EpochStates = Pick<EpochData, 'epoch' | 'atStart' | 'atEnd' | 'blocks'>

/** The blocks of an epoch and those around it that are known, in ascending order. */
export const chainOf = ({ parent, blocks, child }: EpochLinks & Pick<EpochData, 'blocks'>): readonly Block[] =>
  parent || child ? [...(parent ? [parent] : []), ...blocks, ...(child ? [child] : [])] : blocks
