// The blocks of a chain, as a node returns them for each slot. They must link to each other: every block contains the root
// of its parent, and roots are computed from the blocks. Each slot is requested once.
import type { Block } from '#sources/beacon/block.ts'
import { BeaconError, ContradictionError } from '#sources/beacon/client.ts'
import type { BeaconQueries } from './beacon-queries.ts'

const slotsAtOnce = 8
/** A block after empty slots is searched in this many slots: on mainnet nine days. */
const searchSlotsMax = 65_536

export class NodeBlocks {
  #blocks: Block[] = []
  /** The slots that have been requested. */
  #from = 0
  #until = 0

  /** The blocks of a range of slots, in ascending order. None of the slots may be after the newest block. */
  async read(queries: BeaconQueries, from: number, until: number): Promise<readonly Block[]> {
    // The genesis slot has no proposed block.
    const first = Math.max(1, from)
    if (first < this.#from || first > this.#until) this.#restart(first)
    while (this.#until < until) await this.#extend(queries, until)
    return this.#blocks.filter(({ slot }) => slot >= first && slot < until)
  }

  /** The first block at or after a slot. Undefined: the chain has none yet. */
  async findFrom(queries: BeaconQueries, slot: number): Promise<Block | undefined> {
    const known = () => this.#blocks.find((block) => block.slot >= slot)
    if (known()) return known()
    const head = (await queries.head())?.slot ?? 0
    if (head - slot > searchSlotsMax)
      throw new BeaconError(`the node has no block for ${searchSlotsMax} slots from ${slot} on`)
    if (slot < this.#from || slot > this.#until) this.#restart(slot)
    while (!known() && this.#until <= head) await this.#extend(queries, head + 1)
    return known()
  }

  /** Undefined: it is the genesis block. */
  async parentOf(queries: BeaconQueries, { slot, parentRoot }: Block): Promise<Block | undefined> {
    const known = this.#blocks.find(({ root }) => root === parentRoot)
    const header = known ? undefined : await queries.headerOf(parentRoot)
    if (known || header?.slot === 0) return known
    const parent = header && (await queries.block(header.slot))
    if (parent?.root !== parentRoot) throw new BeaconError(`the node does not have the block before slot ${slot}`)
    return parent
  }

  dropBefore(slot: number): void {
    this.#blocks = this.#blocks.filter((block) => block.slot >= slot)
    this.#from = Math.max(this.#from, slot)
    this.#until = Math.max(this.#until, this.#from)
  }

  /** Those that have been read, from a slot on. */
  known(from: number): readonly Block[] {
    return this.#blocks.filter(({ slot }) => slot >= from)
  }

  #restart(slot: number): void {
    this.#blocks = []
    this.#from = slot
    this.#until = slot
  }

  async #extend(queries: BeaconQueries, until: number): Promise<void> {
    const slots = Array.from({ length: Math.min(slotsAtOnce, until - this.#until) }, (_, at) => this.#until + at)
    for (const block of await Promise.all(slots.map((slot) => queries.block(slot)))) {
      if (!block) continue
      const before = this.#blocks.at(-1)
      if (before && before.root !== block.parentRoot) {
        this.#restart(this.#from)
        throw new ContradictionError(
          `slot ${block.slot}: the parent root of the block is ${block.parentRoot}, but the root of the block of slot ${before.slot} is ${before.root}: the node lacks blocks between them, or one of the two was altered`,
        )
      }
      this.#blocks.push(block)
    }
    this.#until += slots.length
  }
}
