// Reads the blocks of epochs and checks that they form one chain. Every block contains the root of its parent, and roots
// are computed from the blocks. This detects altered and missing blocks (behaviour/validators.md#verification).
import type { Block } from '#sources/beacon/block.ts'
import { BeaconError } from '#sources/beacon/client.ts'
import { epochAt, firstSlotAt } from '#sources/beacon/consensus.ts'
import { verifyLink } from '../rules/verify-blocks.ts'
import type { BlockLink, QuerySource } from './beacon-queries.ts'
import { BlockSearch } from './block-search.ts'
import { StatesNotFoundError } from './states-not-found.ts'

const blocksAtOnce = 8

export class LinkedBlocks {
  readonly #source: QuerySource
  readonly #search: BlockSearch
  readonly #blocks = new Map<number, readonly Block[]>()
  /** The last block that was searched after empty epochs. */
  #later: Block | undefined
  /** The last block that was forgotten. */
  #forgotten: Block | undefined
  /** The last block up to the end of each epoch. */
  readonly #lastBlocks = new Map<number, BlockLink | undefined>()

  constructor(source: QuerySource) {
    this.#source = source
    this.#search = new BlockSearch(source)
  }

  /** Keeps only what is needed to read this epoch and the next two. */
  keepFrom(epoch: number): void {
    this.#forgotten =
      this.#keptBlocks().findLast(({ slot }) => slot < firstSlotAt(this.#source.rules, epoch)) ?? this.#forgotten
    for (const at of this.#blocks.keys()) if (at < epoch || at > epoch + 2) this.#blocks.delete(at)
    for (const at of this.#lastBlocks.keys()) if (at < epoch - 1) this.#lastBlocks.delete(at)
  }

  /** The last block up to the end of the epoch, if its links have been verified. */
  lastUpTo(epoch: number): BlockLink | undefined {
    return this.#lastBlocks.get(epoch)
  }

  #keptBlocks(): Block[] {
    return [...this.#blocks.values()].flat().sort((a, b) => a.slot - b.slot)
  }

  /** Undefined: the parent is the genesis block. */
  async parentOf(block: Block): Promise<Block | undefined> {
    const known = [this.#forgotten, ...this.#keptBlocks()].find((other) => other?.root === block.parentRoot)
    if (known) return known
    const header = await this.#search.findParent(block)
    if (header?.slot === 0 || (!header && this.#search.isNearGenesis(block.slot))) return undefined
    const parent = header && (await this.#source.queries.block(header.slot))
    if (!parent) throw new BeaconError(`the node does not have the block before slot ${block.slot}`)
    verifyLink(epochAt(this.#source.rules, block.slot), parent, block)
    return parent
  }

  async childOf(block: Block): Promise<Block> {
    const child = await this.findChild(block)
    if (child) return child
    throw new BeaconError(`the node has no block after slot ${block.slot}`)
  }

  /** Undefined: there is none yet. */
  async findChild(block: Block): Promise<Block | undefined> {
    const known = this.#keptBlocks().find(({ parentRoot }) => parentRoot === block.root)
    if (known) return known
    const child = await this.findFrom(block.slot + 1)
    if (child) verifyLink(epochAt(this.#source.rules, block.slot), block, child)
    return child
  }

  /** The first block at or after a slot. Undefined: there is none yet. */
  async findFrom(slot: number): Promise<Block | undefined> {
    const header = await this.#search.findFrom(slot)
    if (header && this.#later?.root !== header.root) this.#later = await this.#source.queries.block(header.slot)
    return header && this.#later
  }

  async of(epoch: number): Promise<readonly Block[]> {
    const known = this.#blocks.get(epoch)
    if (known) return known
    const blocks: Block[] = []
    const first = firstSlotAt(this.#source.rules, epoch)
    const until = first + this.#source.rules.slotsPerEpoch
    // The genesis slot has no proposed block.
    for (let from = Math.max(first, 1); from < until; from += blocksAtOnce) {
      const slots = Array.from({ length: Math.min(blocksAtOnce, until - from) }, (_, at) => from + at)
      const read = await Promise.all(slots.map((slot) => this.#source.queries.block(slot)))
      blocks.push(...read.filter((block) => block !== undefined))
    }
    this.#blocks.set(epoch, blocks)
    return blocks
  }

  /**
   * Checks the parent root of each block, and of the block after the last one. Returns the blocks from the one before the
   * epoch, if it had to be read, to the one after the last slot of the next epoch.
   */
  async verifyLinks(epoch: number, blocks: readonly Block[]): Promise<readonly BlockLink[]> {
    const end = firstSlotAt(this.#source.rules, epoch + 2)
    let before = await this.#blockBefore(blocks[0], epoch)
    const chain: BlockLink[] = before ? [before, ...blocks] : [...blocks]
    for (const block of blocks) {
      if (before) verifyLink(epoch, before, block)
      before = block
    }
    const lastOwn = blocks.findLast(({ slot }) => slot < firstSlotAt(this.#source.rules, epoch + 1))
    this.#lastBlocks.set(epoch, lastOwn ?? this.#lastBlocks.get(epoch - 1)).set(epoch + 1, before)
    if (!before) return chain
    const after = await this.#search.findFrom(end)
    if (after) {
      verifyLink(epoch, before, after)
      return [...chain, after]
    }
    const header = before.slot === end - 1 ? await this.#source.queries.header(before.slot) : undefined
    if (header) {
      verifyLink(epoch, before, { slot: end, parentRoot: header.root })
      return chain
    }
    throw new BeaconError(
      `the node has no block after slot ${before.slot}, so it is unknown whether the slots up to ${end} are empty`,
    )
  }

  /**
   * The block before the epoch: as it was read, or its header if the epoch starts with empty slots. Undefined: it is not
   * needed, or maybe the genesis block, which some nodes do not return.
   */
  async #blockBefore(block: Block | undefined, epoch: number): Promise<BlockLink | undefined> {
    const known = this.#lastBlocks.get(epoch - 1)
    if (known) return known
    const first = firstSlotAt(this.#source.rules, epoch)
    if (block?.slot === first) return undefined
    const before = block ? await this.#search.findParent(block) : await this.#search.findBefore(first)
    if (before || this.#search.isNearGenesis(first)) return before
    throw new StatesNotFoundError(`the node has no block before slot ${first}, so it is unknown whether that is empty`)
  }
}
