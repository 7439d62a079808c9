// What the ways to find the validators at the first slot of an epoch have in common (boundaries.ts has the list).
import type { QuerySource } from './beacon-queries.ts'
import type { LinkedBlocks } from './linked-blocks.ts'
import type { SlotStates } from './slot-states.ts'
import type { Boundary } from './state-records.ts'
import type { StateSearch } from './states-not-found.ts'

export interface BoundaryContext {
  readonly source: QuerySource
  readonly blocks: LinkedBlocks
  readonly states: SlotStates
  /** From records of states, by epoch. */
  readonly recorded: ReadonlyMap<number, Boundary>
  /** The validators at the first slot of an earlier epoch. */
  readonly boundaryAt: (epoch: number) => Promise<Boundary>
}

/** Undefined: it has no result, and the next way is tried. */
export type ReadBoundary = (
  context: BoundaryContext,
  epoch: number,
  search: StateSearch,
) => Promise<Boundary | undefined>

/** The error if no way has a result. */
export const boundaryNotFound = (firstSlot: number, search: StateSearch) =>
  search.error(`the node has neither the state of slot ${firstSlot} nor those around it`)
