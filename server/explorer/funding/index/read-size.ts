// The number of blocks that an index reads at a time. Traces are large, so a reader holds only those of a few full
// blocks. Of a quiet chain it reads many at a time, because every read takes two requests.
import type { BlockWithExecution } from '#sources/evm/types.ts'

export const blocksPerReadMin = 8
const blocksPerReadMax = 64
/** About as many as eight full blocks have. */
const transactionsPerRead = 1600

export class ReadSize {
  /** Of the next read. */
  blocks = blocksPerReadMin

  /** The next blocks are probably as full as these. */
  measure(read: readonly BlockWithExecution[]): void {
    const transactions = read.reduce((sum, { block }) => sum + block.transactions.length, 0)
    const fitting = Math.floor((transactionsPerRead * read.length) / Math.max(1, transactions))
    this.blocks = Math.max(blocksPerReadMin, Math.min(fitting, blocksPerReadMax))
  }
}
