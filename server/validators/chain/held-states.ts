// The states that a chain process holds: those after blocks, and epoch starts that are not the state after a block.
//
// 1. Blocks: the oldest goes first, unless it is the newest of its branch.
// 2. Epoch starts: while finality is missing, the one of the justified checkpoint stays, and later states can
//    be computed again from it.
import type { EngineState } from './engine.ts'
import type { BlockId, EpochStartId, Root } from './messages.ts'

export interface HeldStatesLimits {
  readonly blockStates: number
  readonly epochStarts: number
}

interface BlockEntry extends BlockId {
  readonly parentRoot: Root
  readonly state: EngineState
}

interface EpochStartEntry extends EpochStartId {
  readonly state: EngineState
}

const keyOf = ({ epoch, root }: EpochStartId): string => `${epoch} ${root}`

export class HeldStates {
  readonly #limits: HeldStatesLimits
  readonly #blocks = new Map<Root, BlockEntry>()
  readonly #epochStarts = new Map<string, EpochStartEntry>()

  constructor(limits: HeldStatesLimits) {
    this.#limits = limits
  }

  clear(): void {
    for (const state of new Set(this.#all().map((entry) => entry.state))) state.release()
    this.#blocks.clear()
    this.#epochStarts.clear()
  }

  addBlock(entry: BlockEntry): void {
    if (this.#blocks.has(entry.root)) return
    this.#blocks.set(entry.root, entry)
    while (this.#blocks.size > this.#limits.blockStates) {
      const parents = new Set(Array.from(this.#blocks.values(), ({ parentRoot }) => parentRoot))
      const entries = [...this.#blocks.values()]
      this.#removeBlock(entries.find(({ root }) => parents.has(root)) ?? (entries[0] as BlockEntry))
    }
  }

  /** `justifiedEpoch`: of the branch. */
  addEpochStart(entry: EpochStartEntry, justifiedEpoch: number): void {
    this.#epochStarts.set(keyOf(entry), entry)
    for (const old of this.#epochStarts.values()) {
      if (this.#epochStarts.size <= this.#limits.epochStarts) break
      if (old.epoch !== justifiedEpoch) this.#removeEpochStart(old)
    }
  }

  block(root: Root): BlockEntry | undefined {
    return this.#blocks.get(root)
  }

  epochStart(id: EpochStartId): EngineState | undefined {
    return this.#epochStarts.get(keyOf(id))?.state
  }

  /** The latest state with this newest block that is not after the slot. */
  latestWithBlock(root: Root, slot: number): EngineState | undefined {
    const advanced = [...this.#epochStarts.values()].filter((entry) => entry.root === root && entry.state.slot <= slot)
    advanced.sort((a, b) => b.epoch - a.epoch)
    return advanced[0]?.state ?? this.#blocks.get(root)?.state
  }

  /** Drops what is before the slot, except the newest block and what is at it. */
  dropBefore(slot: number): void {
    const newest = Math.max(...Array.from(this.#blocks.values(), (entry) => entry.slot))
    for (const entry of this.#blocks.values()) if (entry.slot < slot && entry.slot !== newest) this.#removeBlock(entry)
    for (const entry of this.#epochStarts.values())
      if (entry.state.slot < slot && !(this.#blocks.get(entry.root)?.slot === newest)) this.#removeEpochStart(entry)
  }

  /** In the order in which they were added. */
  blocks(): BlockId[] {
    return Array.from(this.#blocks.values(), ({ slot, root }) => ({ slot, root }))
  }

  epochStarts(): EpochStartId[] {
    return Array.from(this.#epochStarts.values(), ({ epoch, root }) => ({ epoch, root }))
  }

  #removeBlock(entry: BlockEntry): void {
    this.#blocks.delete(entry.root)
    this.#releaseUnheld(entry.state)
  }

  #removeEpochStart(entry: EpochStartEntry): void {
    this.#epochStarts.delete(keyOf(entry))
    this.#releaseUnheld(entry.state)
  }

  /** A block at the first slot of an epoch and the start of that epoch are one state. */
  #releaseUnheld(state: EngineState): void {
    if (!this.#all().some((entry) => entry.state === state)) state.release()
  }

  #all = () => [...this.#blocks.values(), ...this.#epochStarts.values()]
}
