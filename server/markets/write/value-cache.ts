// The current values of blocks that this process has written, so that the next write does not read them.
//
// 1. They are used only if the newest version is the one that this process has written: then nobody else has changed them.
// 2. A write takes them out and changes them. They are put back after its commit, so a write that fails leaves nothing.
import type { BlockValues } from '../ticks/block-values.ts'

/** About 60 kB each. */
const blocksMax = 1000

/** The newest version. Numbers alone may repeat after a failover. */
export interface VersionHead {
  readonly seq: number
  readonly atMs: number
}

const isSame = (a: VersionHead | undefined, b: VersionHead): boolean => a?.seq === b.seq && a.atMs === b.atMs

export class ValueCache {
  readonly #blocks = new Map<number, BlockValues>()
  #head: VersionHead | undefined

  /** Those of the blocks that are known at this version. */
  take(head: VersionHead, blocks: Iterable<number>): Map<number, BlockValues> {
    if (!isSame(this.#head, head)) this.#blocks.clear()
    const taken = new Map<number, BlockValues>()
    for (const block of blocks) {
      const values = this.#blocks.get(block)
      if (values) taken.set(block, values)
      this.#blocks.delete(block)
    }
    return taken
  }

  /** `before` and `head`: the newest version before a write and after it. */
  keep(blocks: ReadonlyMap<number, BlockValues>, before: VersionHead, head: VersionHead): void {
    if (!isSame(this.#head, before)) this.#blocks.clear()
    this.#head = head
    for (const [block, values] of blocks) {
      const [oldest] = this.#blocks.keys()
      if (this.#blocks.size >= blocksMax && oldest !== undefined) this.#blocks.delete(oldest)
      this.#blocks.set(block, values)
    }
  }
}
