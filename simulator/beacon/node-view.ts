// What a simulated beacon node knows of its network: the head, and the blocks and states that its profile keeps.
import type { BeaconNodeOptions } from './node.ts'
import { archiveNode, type ChainView, type NodeProfile } from './node-profile.ts'
import { type EpochRecord, genesisRoot, type SimulatedBlock, type SimulatedNetwork } from './records.ts'

interface Head {
  readonly headSlot: number
  readonly blockSlot: number
  readonly finalized: number
  readonly justified: number
}

export class NodeView {
  readonly #network: SimulatedNetwork
  readonly #options: BeaconNodeOptions
  #cachedHead: Head | undefined

  constructor(network: SimulatedNetwork, options: BeaconNodeOptions) {
    this.#network = network
    this.#options = options
  }

  /** Read at every request: tests change the options of a running node. */
  get profile(): NodeProfile {
    return { ...archiveNode, ...this.#options.profile, ...this.#options }
  }

  epochOf(slot: number): number {
    return Math.floor(slot / this.#network.plan.slotsPerEpoch)
  }

  async epochOfSlot(slot: number): Promise<EpochRecord | undefined> {
    const exists = slot >= 0 && slot <= this.#network.headSlot
    return exists ? this.#network.epoch(this.epochOf(slot)) : undefined
  }

  async blockAt(slot: number): Promise<SimulatedBlock | undefined> {
    return this.#options.lacks?.(slot) ? undefined : (await this.epochOfSlot(slot))?.blocks.get(slot)
  }

  /** The last block at or before the slot; undefined for genesis. */
  async blockUpTo(slot: number): Promise<SimulatedBlock | undefined> {
    for (let at = slot; at > 0; at--) {
      const block = await this.blockAt(at)
      if (block) return block
    }
    return undefined
  }

  async rootUpTo(slot: number): Promise<string> {
    return (await this.blockUpTo(slot))?.root ?? genesisRoot
  }

  /**
   * The newest block and its state. A following empty slot changes nothing that is reported as head. It is searched once
   * per slot, because a live network would have to simulate the epoch of the head for every request about the past.
   */
  async head(): Promise<Head> {
    const { headSlot, plan } = this.#network
    if (this.#cachedHead?.headSlot !== headSlot) {
      const blockSlot = (await this.blockUpTo(headSlot))?.slot ?? 0
      const state = (await this.epochOfSlot(blockSlot))?.states[blockSlot % plan.slotsPerEpoch]
      this.#cachedHead = { headSlot, blockSlot, finalized: state?.finalized ?? 0, justified: state?.justified ?? 0 }
    }
    return this.#cachedHead
  }

  async finalized(): Promise<number> {
    return this.#options.finalized?.() ?? (await this.head()).finalized
  }

  async limits(): Promise<ChainView> {
    const { headSlot, plan } = this.#network
    return {
      slotsPerEpoch: plan.slotsPerEpoch,
      headSlot,
      headBlockSlot: (await this.head()).blockSlot,
      finalizedSlot: (await this.finalized()) * plan.slotsPerEpoch,
      checkpointSlot: this.#options.checkpointSlot ?? 0,
    }
  }

  /** The slot that an id of a block or state means. */
  async slotOf(id: string): Promise<number> {
    const { slotsPerEpoch } = this.#network.plan
    if (id === 'head') return (await this.head()).blockSlot
    if (id === 'finalized') return (await this.finalized()) * slotsPerEpoch
    if (id === 'justified') return (await this.head()).justified * slotsPerEpoch
    return id === 'genesis' ? 0 : Number(id)
  }

  async hasState(slot: number): Promise<boolean> {
    return slot >= this.profile.statesFromSlot(await this.limits())
  }

  /** Undefined: there is none at that slot or with that root. */
  async findBlock(id: string): Promise<SimulatedBlock | undefined> {
    if (id.startsWith('0x')) return this.#network.blockByRoot?.(id)
    const slot = await this.slotOf(id)
    if (slot < this.profile.blocksFromSlot(await this.limits())) return undefined
    // A checkpoint is the last block up to the start of its epoch.
    return id === 'finalized' || id === 'justified' ? this.blockUpTo(slot) : this.blockAt(slot)
  }
}
