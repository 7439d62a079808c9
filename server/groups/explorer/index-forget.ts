// The way out when a chain has changed below what was final: all that was read from a block on is forgotten, to be read
// again (decision 0178).
//
// 1. Rows, coverage, seams, the run, the head and what searches had found out go in one transaction.
// 2. What stays is what a reader would have that had come exactly so far: an address whose row goes has none before the
//    block in what is covered there, since the earliest wins.
import { Fault } from '#core/fault.ts'
import type { Read } from '#io/evm/readings.ts'
import type { AskOptions } from '#io/evm/rpc.ts'
import { coverageOf, uncoverFrom } from '#store/coverage.ts'
import type { State, StateReader } from '#store/state.ts'
import { hexOf } from './fundings.ts'
import { takeBack } from './index-near.ts'
import type { ChainNode } from './node.ts'
import { forgetMarks } from './probe-marks.ts'
import { blocksOf } from './standing.ts'

export interface Forgotten {
  /** Final blocks that were covered and are not any more. */
  readonly blocks: number
  readonly rows: number
}

/** Forgets all from `block` on. */
export function forgetFrom(state: State, chain: string, block: number): Promise<Forgotten> {
  return state.write(async (tx) => {
    const covered = await coverageOf(tx, blocksOf(chain))
    const rows = await tx.run('delete from fundings where chain = ? and block >= ?', chain, block)
    await uncoverFrom(tx, blocksOf(chain), block)
    // The seam there is that of a stretch that ends there, or of one that began there and is gone.
    const endsThere = covered.some(({ from, until }) => from < block && until === block)
    await tx.run('delete from block_seams where chain = ? and at >= ?', chain, endsThere ? block + 1 : block)
    await takeBack(tx, chain, block)
    await forgetMarks(tx, chain, block)
    const head = 'update chain_heads set final_until = ? where chain = ? and final_until > ?'
    await tx.run(head, block, chain, block)
    const blocks = covered.reduce((sum, { from, until }) => sum + Math.max(0, until - Math.max(from, block)), 0)
    return { blocks, rows }
  })
}

/**
 * Throws when the newest row below `block` is not where the node has it: then the chains part further down, and what stayed would
 * be joined to blocks that do not follow it. Below the last row there is nothing that could be wrong.
 */
export async function checkBelow(
  state: StateReader,
  { chain, rpc }: ChainNode,
  block: number,
  options: AskOptions = {},
): Promise<void> {
  const last = await state.get<{ block: number; tx: Uint8Array }>(
    'select block, tx from fundings where chain = ? and block < ? order by block desc limit 1',
    chain.id,
    block,
  )
  if (!last) return
  const params = [`0x${last.block.toString(16)}`, true]
  const call = { method: 'eth_getBlockByNumber', params, reading: { as: 'block', number: last.block } } as const
  const [found] = (await rpc.results([call], options)) as Read['block'][]
  if (found?.transactions.some(({ hash }) => hash === hexOf(last.tx))) return
  throw new Fault('input.invalid', {
    says: `the node has another block ${last.block} than the one that was read, so the chains part further down; forget from a lower block, or from ${chain.firstBlock} to read everything again`,
  })
}
