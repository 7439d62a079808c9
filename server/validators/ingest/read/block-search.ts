// Finds the blocks before and after slots that are empty, for the readers of epochs and the recorder of states. A chain
// can be without a block for many epochs, and every epoch in between needs the same two blocks.
//
// 1. A few slots around are requested one after another, which is enough for nearly all chains.
// 2. Beyond them, the next block is searched up to the newest one, and the block before it is requested by its root.
import { BeaconError, ContradictionError } from '#sources/beacon/client.ts'
import type { BlockHeader, QuerySource } from './beacon-queries.ts'

/** Slots of this many epochs are requested one after another. */
const nearEpochs = 2
/** The next block is searched in this many slots (on mainnet nine days). A network that stops for longer is not read. */
const searchSlotsMax = 65_536
const slotsAtOnce = 8
const tooFar = 'too far'

export class BlockSearch {
  readonly #source: QuerySource
  /** The slots from `from` up to this block were empty. They are as long as the block is part of the chain. */
  #known: { readonly from: number; readonly block: BlockHeader } | undefined

  constructor(source: QuerySource) {
    this.#source = source
  }

  /** The first block at or after a slot. Undefined: the chain has none yet. Throws a BeaconError beyond the limit. */
  async findFrom(slot: number): Promise<BlockHeader | undefined> {
    const found = await this.#findNext(slot)
    if (found !== tooFar) return found
    throw new BeaconError(
      `the node has no block in the ${searchSlotsMax} slots from ${slot} on; epochs after so long a time without blocks are not read`,
    )
  }

  /** The last block before an empty slot. Undefined: the node has none. */
  async findBefore(slot: number): Promise<BlockHeader | undefined> {
    const near = await this.#findNearBefore(slot)
    if (near || this.isNearGenesis(slot)) return near
    // A node that has deleted its blocks up to a later one looks like a chain without blocks.
    const next = await this.#findNext(slot)
    if (!next || next === tooFar) return undefined
    const before = await this.#source.queries.headerOf(next.parentRoot)
    if (before && before.slot >= slot)
      throw new ContradictionError(
        `the node has no block of slot ${before.slot}, but the block of slot ${next.slot} names that as its parent`,
      )
    return before
  }

  async #findNext(slot: number): Promise<BlockHeader | typeof tooFar | undefined> {
    const known = this.#known
    const isKnown = known && slot >= known.from && slot <= known.block.slot
    if (isKnown && (await this.#source.queries.header(known.block.slot))?.root === known.block.root) return known.block
    const nearUntil = slot + this.#nearSlots
    for (let at = slot; at < nearUntil; at++) {
      const block = await this.#source.queries.header(at)
      if (block) return block
    }
    const block = await this.#findFar(nearUntil)
    if (block && block !== tooFar) this.#known = { from: slot, block }
    return block
  }

  /** The parent of a block. Undefined: the node does not have it. */
  async findParent({ slot, parentRoot }: Pick<BlockHeader, 'slot' | 'parentRoot'>): Promise<BlockHeader | undefined> {
    return (await this.#findNearBefore(slot)) ?? this.#source.queries.headerOf(parentRoot)
  }

  /** Whether all slots back to genesis are requested one after another. Some nodes do not return the genesis block. */
  isNearGenesis(slot: number): boolean {
    return slot <= this.#nearSlots
  }

  async #findNearBefore(slot: number): Promise<BlockHeader | undefined> {
    for (let at = slot - 1; at >= Math.max(0, slot - this.#nearSlots); at--) {
      const block = await this.#source.queries.header(at)
      if (block) return block
    }
    return undefined
  }

  async #findFar(from: number): Promise<BlockHeader | typeof tooFar | undefined> {
    const head = await this.#source.queries.head()
    const until = (head?.slot ?? 0) + 1
    for (let at = from; at < until; at += slotsAtOnce) {
      if (at - from >= searchSlotsMax) return tooFar
      const slots = Array.from({ length: Math.min(slotsAtOnce, until - at) }, (_, offset) => at + offset)
      const read = await Promise.all(slots.map((slot) => this.#source.queries.header(slot)))
      const block = read.find((header) => header !== undefined)
      if (block) return block
    }
    return undefined
  }

  get #nearSlots(): number {
    return nearEpochs * this.#source.rules.slotsPerEpoch
  }
}
