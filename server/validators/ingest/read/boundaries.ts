// Finds the boundary of each epoch, for the reader of epochs: the validators at its first slot, with their balances. Nodes
// differ in which states they have, so there are several ways (behaviour/validators.md#beacon-states). ARCHITECTURE.md,
// "Follow a missing state", explains what happens if none of them has a result.
import { firstSlotAt } from '#sources/beacon/consensus.ts'
import type { Validators } from '#sources/beacon/validators.ts'
import type { QuerySource } from './beacon-queries.ts'
import { fromFirstBlock } from './boundary/from-first-block.ts'
import { fromNeighbourEpochs } from './boundary/from-neighbour-epochs.ts'
import { fromOwnState } from './boundary/from-own-state.ts'
import { fromRecord } from './boundary/from-record.ts'
import { type BoundaryContext, boundaryNotFound, type ReadBoundary } from './boundary-way.ts'
import type { LinkedBlocks } from './linked-blocks.ts'
import { SlotStates } from './slot-states.ts'
import type { Boundary } from './state-records.ts'
import { StateSearch } from './states-not-found.ts'

/** Tried in this order. Each file begins with when the way applies, what it proves and what it costs. */
const waysToReadBoundary: readonly ReadBoundary[] = [
  fromRecord, // the state was recorded while the epoch was not final
  fromOwnState, // the node has the state of the slot
  fromFirstBlock, // the node has the state of the first block in the epoch
  fromNeighbourEpochs, // the node has the states one epoch before and after it, and they are equal
]

export class Boundaries {
  readonly #context: BoundaryContext
  readonly #states: SlotStates
  readonly #recorded = new Map<number, Boundary>()
  readonly #found = new Map<number, Boundary>()

  constructor(source: QuerySource, blocks: LinkedBlocks) {
    this.#states = new SlotStates(source)
    this.#context = {
      source,
      blocks,
      states: this.#states,
      recorded: this.#recorded,
      // A way asks only for earlier epochs, so this ends.
      boundaryAt: (epoch) => this.atEpoch(epoch),
    }
  }

  /** Not for concurrent calls: two for one epoch would both search for it. */
  async atEpoch(epoch: number): Promise<Boundary> {
    const boundary = this.#found.get(epoch) ?? (await this.#find(epoch))
    this.#found.set(epoch, boundary)
    return boundary
  }

  async #find(epoch: number): Promise<Boundary> {
    // Remembers whether a request failed, which decides what error there is if no way has a result.
    const search = new StateSearch()
    for (const readBoundary of waysToReadBoundary) {
      const boundary = await readBoundary(this.#context, epoch, search)
      if (boundary) return boundary
    }
    throw boundaryNotFound(firstSlotAt(this.#context.source.rules, epoch), search)
  }

  /** What was found or recorded, without a request. */
  findKnown(epoch: number): Boundary | undefined {
    return this.#found.get(epoch) ?? this.#recorded.get(epoch)
  }

  /** The validators of any slot; undefined: the node does not have its state. */
  validatorsAtSlot(slot: number): Promise<Validators | undefined> {
    return this.#states.validatorsAtSlot(slot)
  }

  /** From a record on disk. What was found has precedence. */
  addRecorded(epoch: number, boundary: Boundary): void {
    this.#recorded.set(epoch, boundary)
  }

  addFound(epoch: number, boundary: Boundary): void {
    this.#found.set(epoch, boundary)
  }

  /** Keeps the boundaries of this epoch and the next two. */
  keepFrom(epoch: number): void {
    for (const boundaries of [this.#found, this.#recorded])
      for (const knownEpoch of boundaries.keys())
        if (knownEpoch < epoch || knownEpoch > epoch + 2) boundaries.delete(knownEpoch)
  }
}
