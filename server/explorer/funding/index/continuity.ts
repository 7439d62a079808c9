// Ensures that all indexed ranges belong to one chain, whenever and from whichever node they were read
// (behaviour/explorer.md#continuity-of-the-index). The store has the block hashes at both ends of each range.
//
// 1. The boundary at n is the hash of block n - 1, where a range begins or ends. It is written together with the
//    coverage. Where two ranges meet, their hashes must be equal; the boundary is then deleted.
// 2. `forgetFrom` may leave a range that ends without a hash. The next range is then accepted without this check.
import { Fault } from '#core/fault.ts'
import type { Range } from '#core/ranges.ts'
import type { ChainNode } from '#explorer/nodes.ts'
import { headerCall, toHeader } from '#sources/evm/blocks.ts'
import type { RpcCallOptions } from '#sources/evm/rpc.ts'
import { addCoverage, coverageOf } from '#storage/coverage.ts'
import type { StateReader, StateWriter } from '#storage/state.ts'
import { blocksStream } from '../chain-coverage.ts'
import { toBytes, toHex } from '../fundings.ts'

/** Final blocks that were read. `parentHash` is that of the first block. */
export interface LinkedRange extends Range {
  readonly parentHash: string
  readonly lastHash: string
}

/** Marks the range as covered. Throws if an adjacent range belongs to another chain. */
export async function coverLinkedRange(tx: StateWriter, chain: string, range: LinkedRange): Promise<void> {
  const { from, until, parentHash, lastHash } = range
  if (from === until) return
  const ends = [
    { at: from, hash: parentHash },
    { at: until, hash: lastHash },
  ]
  for (const { at, hash } of ends) await verifyBoundary(tx, chain, at, hash)
  await addCoverage(tx, blocksStream(chain), from, until)
  const covered = await coverageOf(tx, blocksStream(chain))
  const merged = covered.find((covering) => covering.from <= from && until <= covering.until) ?? range
  await tx.run('delete from range_boundaries where chain = ? and at > ? and at < ?', chain, merged.from, merged.until)
  for (const { at, hash } of ends) {
    if (at === merged.from || at === merged.until) await putBoundaryHash(tx, chain, at, hash)
  }
}

async function putBoundaryHash(tx: StateWriter, chain: string, at: number, hash: string): Promise<void> {
  const sql = 'insert into range_boundaries (chain, at, hash) values (?, ?, ?) on conflict (chain, at) do nothing'
  await tx.run(sql, chain, at, toBytes(hash, 32))
}

/** Throws if the stored hash of block `at - 1` differs. */
async function verifyBoundary(reader: StateReader, chain: string, at: number, hash: string): Promise<void> {
  const sql = 'select hash from range_boundaries where chain = ? and at = ?'
  const known = await reader.get<{ hash: Uint8Array }>(sql, chain, at)
  if (known && toHex(known.hash) !== hash) throw new ChainContradiction(chain, at - 1, toHex(known.hash))
}

/** How many headers are requested at a time. */
export const headersPerRequest = 16

/**
 * Throws if the node has a different block at a boundary, or has not reached the last one. `head` is its newest block.
 */
export async function verifyContinuity(
  reader: StateReader,
  { chain, rpc }: ChainNode,
  head: number,
  options: RpcCallOptions,
): Promise<void> {
  const boundaries = await reader.all<{ at: number; hash: Uint8Array }>(
    // The block before firstBlock was not read, so it cannot be compared.
    'select at, hash from range_boundaries where chain = ? and at > ? order by at',
    ...[chain.id, chain.firstBlock],
  )
  const last = (boundaries.at(-1)?.at ?? 0) - 1
  if (last > head) throw nodeIsBehind(chain.id, head, last)
  for (let from = 0; from < boundaries.length; from += headersPerRequest) {
    const part = boundaries.slice(from, from + headersPerRequest)
    const calls = part.map(({ at }) => headerCall(at - 1))
    const headers = await rpc.results(calls, options)
    for (const [index, { at, hash }] of part.entries()) {
      if (toHeader(headers[index]).hash !== toHex(hash)) throw new ChainContradiction(chain.id, at - 1, toHex(hash))
    }
  }
}

/** A node that is behind, or on a chain that was restarted, cannot confirm the indexed blocks. */
export const nodeIsBehind = (chain: string, head: number, read: number): Fault =>
  new Fault('explorer.node_unavailable', {
    detail: `chain ${chain}: the node is at block ${head}, before the finalized block ${read}. Wait until it has caught up. If the chain was restarted, remove its blocks: tetrad repair --chain ${chain} --forget-from <first block>`,
  })

/** The node contradicts a finalized block. A retry does not help. */
export class ChainContradiction extends Fault {
  constructor(chain: string, block: number, hash: string) {
    super('explorer.node_unavailable', {
      detail: `chain ${chain}: block ${block} of the node differs from the finalized block ${hash}. Check that it is the right node. If the chain itself has changed, remove the blocks that differ: tetrad repair --chain ${chain} --forget-from <first block that differs>`,
    })
  }
}
