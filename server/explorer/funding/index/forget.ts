// The way out when a chain has changed below what was final: all that was read from a block on is forgotten, to be read
// again (behaviour/explorer.md#removing-blocks-from-the-index).
//
// 1. Rows, coverage, seams, the run and the head go in one transaction.
// 2. What stays is what a reader would have that had come exactly so far: an address whose row goes has none before the
//    block in what is covered there, since the earliest wins.
import { Fault } from '#core/fault.ts'
import type { ChainNode } from '#explorer/nodes.ts'
import type { DecodedResults } from '#sources/evm/large-results.ts'
import type { RpcCallOptions } from '#sources/evm/rpc.ts'
import { coverageOf, removeCoverageFrom } from '#storage/coverage.ts'
import type { State } from '#storage/state.ts'
import { blocksStream } from '../coverage.ts'
import { toHex } from '../fundings.ts'
import { revertBlocksFrom } from './unfinalized.ts'

export interface ForgetResult {
  /** Final blocks that were covered and are not any more. */
  readonly blocks: number
  readonly rows: number
}

/** Forgets all from `block` on. */
export function forgetFrom(state: State, chain: string, block: number): Promise<ForgetResult> {
  return state.write(async (tx) => {
    const covered = await coverageOf(tx, blocksStream(chain))
    const rows = await tx.run('delete from fundings where chain = ? and block >= ?', chain, block)
    await removeCoverageFrom(tx, blocksStream(chain), block)
    // The seam there is that of a stretch that ends there, or of one that began there and is gone.
    const endsThere = covered.some(({ from, until }) => from < block && until === block)
    await tx.run('delete from block_seams where chain = ? and at >= ?', chain, endsThere ? block + 1 : block)
    await revertBlocksFrom(tx, chain, block)
    const head = 'update chain_heads set final_until = ?, confirmed_ms = 0 where chain = ? and final_until > ?'
    await tx.run(head, block, chain, block)
    const blocks = covered.reduce((sum, { from, until }) => sum + Math.max(0, until - Math.max(from, block)), 0)
    return { blocks, rows }
  })
}

/** Rows that are compared: a transaction may be in a block of the same number after a reorganisation, but not many of them. */
const comparedRowsMax = 16

/**
 * From where on to forget, so that nothing stays which was not compared: the newest row below `block` is the last thing that shows
 * which chain it was read from. Throws when one of the rows there is not where the node has it: the chains part further down.
 */
export async function findForgetStart(
  state: State,
  { chain, rpc }: ChainNode,
  block: number,
  options: RpcCallOptions = {},
): Promise<number> {
  // A question about the whole table, to which a reader would not be given the time.
  const rows = await state.write((tx) =>
    tx.all<{ block: number; tx_index: number; tx: Uint8Array }>(
      'select block, tx_index, tx from fundings where chain = ? and block < ? order by block desc limit ?',
      ...[chain.id, block, comparedRowsMax],
    ),
  )
  const numbers = [...new Set(rows.map((row) => row.block))]
  const calls = numbers.map((number) => ({
    ...{ method: 'eth_getBlockByNumber', params: [`0x${number.toString(16)}`, true] },
    resultKind: { as: 'block', number } as const,
  }))
  const blocks = (await rpc.results(calls, options)) as DecodedResults['block'][]
  for (const { block: number, tx_index: index, tx } of rows) {
    const found = blocks.find((one) => one.number === number)?.transactions[index]
    if (found?.hash === toHex(tx)) continue
    throw new Fault('input.invalid', {
      message: `the node has another block ${number} than the one that was read, so the chains part further down; forget from a lower block, or from ${chain.firstBlock} to read everything again`,
    })
  }
  return Math.min(block, Math.max(chain.firstBlock, numbers[0] ?? 0))
}
