// Removes blocks from the index when a chain has changed below its finalized blocks, so that they are read again
// (behaviour/explorer.md#removing-blocks-from-the-index).
//
// 1. Rows, coverage, boundaries, unfinalized blocks and head are removed in one transaction.
// 2. The rest is what indexing up to the block would have stored: a removed row was the earliest of its address, so no
//    covered block before it has a transfer to the address.
import { Fault } from '#core/fault.ts'
import type { ChainNode } from '#explorer/nodes.ts'
import { blockCall } from '#sources/evm/blocks.ts'
import type { DecodedResults } from '#sources/evm/large-results.ts'
import type { RpcCallOptions } from '#sources/evm/rpc.ts'
import { coverageOf, removeCoverageFrom } from '#storage/coverage.ts'
import type { State } from '#storage/state.ts'
import { blocksStream } from '../chain-coverage.ts'
import { toHex } from '../fundings.ts'
import { logsStream } from './transfer-logs.ts'
import { revertBlocksFrom } from './unfinalized.ts'

/** Returns the number of final blocks that are no longer covered, and of removed rows. */
export function forgetFrom(state: State, chain: string, block: number): Promise<{ blocks: number; rows: number }> {
  return state.write(
    async (tx) => {
      const covered = await coverageOf(tx, blocksStream(chain))
      const rows = await tx.run('delete from fundings where chain = ? and block >= ?', chain, block)
      for (const stream of [blocksStream(chain), logsStream(chain)]) await removeCoverageFrom(tx, stream, block)
      // Keep the boundary of a range that ends at the block. A range that begins there is removed.
      const endsAtBlock = covered.some(({ from, until }) => from < block && until === block)
      await tx.run('delete from range_boundaries where chain = ? and at >= ?', chain, endsAtBlock ? block + 1 : block)
      await revertBlocksFrom(tx, chain, block)
      const head = 'update chain_heads set final_until = ?, confirmed_ms = 0 where chain = ? and final_until > ?'
      await tx.run(head, block, chain, block)
      const blocks = covered.reduce((sum, { from, until }) => sum + Math.max(0, until - Math.max(from, block)), 0)
      return { blocks, rows }
    },
    { lock: `chain:${chain}` },
  )
}

/** After a reorganisation a single transaction may be in a block of the same number, but not this many. */
const comparedRowsMax = 16

/**
 * The block to remove from, at most `block`. Nothing after the newest row below `block` shows which chain it belongs
 * to, so that row is removed too. Throws if the node does not have the rows below `block`.
 */
export async function findForgetStart(
  state: State,
  { chain, rpc }: ChainNode,
  block: number,
  options: RpcCallOptions = {},
): Promise<number> {
  // A scan of the whole table exceeds the time limit of readers.
  const rows = await state.write((tx) =>
    tx.all<{ block: number; tx_index: number; tx: Uint8Array }>(
      'select block, tx_index, tx from fundings where chain = ? and block < ? order by block desc limit ?',
      ...[chain.id, block, comparedRowsMax],
    ),
  )
  const numbers = [...new Set(rows.map((row) => row.block))]
  const blocks = (await rpc.results(
    numbers.map((number) => blockCall(number)),
    options,
  )) as DecodedResults['block'][]
  for (const { block: number, tx_index: index, tx } of rows) {
    const transaction = blocks.find((block) => block.number === number)?.transactions[index]
    if (transaction?.hash === toHex(tx)) continue
    throw new Fault('input.invalid', {
      message: `block ${number} of the node differs from the indexed one. Choose a lower block, or ${chain.firstBlock} to read everything again`,
    })
  }
  return Math.min(block, Math.max(chain.firstBlock, numbers[0] ?? 0))
}
