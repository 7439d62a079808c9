// Where the epochs of a network come from: states that are computed from blocks (../epochs/computed-processor.ts), or
// the states of a node (node-states.ts).
import type { Block } from '#sources/beacon/block.ts'
import { BeaconError } from '#sources/beacon/client.ts'
import type { EpochData } from './epoch.ts'

export interface EpochSource {
  /** The first slot two epochs later must be part of the chain. */
  read(epoch: number): Promise<EpochData>
}

/** Epochs on the branch of the newest block. */
export interface PendingEpochs extends EpochSource {
  /** From a slot of the first epoch on, in ascending order. */
  blocksFrom(slot: number): readonly Block[]
}

/** The states of a network. Calls may overlap. */
export interface States extends AsyncDisposable {
  /** Reads final epochs, from `first` on. `work` is repeated if the source has to begin again. */
  readFinal<T>(first: number, signal: AbortSignal, work: (epochs: EpochSource) => Promise<T>): Promise<T>
  /** Reads epochs that are not final, from `first` on, as one node has them. */
  readPending<T>(first: number, signal: AbortSignal, work: (epochs: PendingEpochs) => Promise<T>): Promise<T>
}

const statesNotFound = 'StatesNotFoundError'

/** Nothing has the states of an epoch: no snapshot, and no node. */
export class StatesNotFoundError extends BeaconError {
  override readonly name = statesNotFound
}

/** Two nodes have different blocks in the final chain. Nothing is stored until they agree. */
export class NodesDisagreeError extends BeaconError {
  override readonly name = 'NodesDisagreeError'
}

/** Checks the name, because an error from another thread loses its class. */
export const isStatesNotFound = (error: unknown): error is Error =>
  error instanceof Error && error.name === statesNotFound
