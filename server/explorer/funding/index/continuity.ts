// Which blocks the covered stretches of a chain begin after and end with, so that what is read beside them, whenever and
// from whichever node, is of the same chain (behaviour/explorer.md#continuity-of-the-index).
//
// 1. A seam at n is the hash of block n - 1, where a covered stretch begins or ends at n. It is written with the coverage;
//    where two stretches meet, both have to know the same one, and it goes.
// 2. `forgetFrom` may leave a range that ends without a hash. The next range is then accepted without this check.
import { Fault } from '#core/fault.ts'
import type { Range } from '#core/ranges.ts'
import type { ChainNode } from '#explorer/nodes.ts'
import { headerCall, toHeader } from '#sources/evm/blocks.ts'
import type { RpcCallOptions } from '#sources/evm/rpc.ts'
import { addCoverage, coverageOf } from '#storage/coverage.ts'
import type { StateReader, StateWriter } from '#storage/state.ts'
import { blocksStream } from '../coverage.ts'
import { toBytes, toHex } from '../fundings.ts'

/** Final blocks that were read: the parent of the first, and the last. */
export interface LinkedRange extends Range {
  readonly parentHash: string
  readonly lastHash: string
}

/** Covers the range, unless a stretch beside it is of another chain. */
export async function coverLinkedRange(tx: StateWriter, chain: string, range: LinkedRange): Promise<void> {
  const { from, until, parentHash, lastHash } = range
  if (from === until) return
  const ends = [
    { at: from, hash: parentHash },
    { at: until, hash: lastHash },
  ]
  for (const end of ends) await verifyBoundary(tx, chain, end)
  await addCoverage(tx, blocksStream(chain), from, until)
  const covered = await coverageOf(tx, blocksStream(chain))
  const whole = covered.find((one) => one.from <= from && until <= one.until) ?? range
  await tx.run('delete from block_seams where chain = ? and at > ? and at < ?', chain, whole.from, whole.until)
  for (const { at, hash } of ends) {
    if (at === whole.from || at === whole.until) await putBoundaryHash(tx, chain, at, hash)
  }
}

async function putBoundaryHash(tx: StateWriter, chain: string, at: number, hash: string): Promise<void> {
  const sql = 'insert into block_seams (chain, at, hash) values (?, ?, ?) on conflict (chain, at) do nothing'
  await tx.run(sql, chain, at, toBytes(hash, 32))
}

/** Throws when block `at - 1` was another one when a stretch that ends there was read. */
async function verifyBoundary(reader: StateReader, chain: string, { at, hash }: RangeBoundary): Promise<void> {
  const sql = 'select hash from block_seams where chain = ? and at = ?'
  const known = await reader.get<{ hash: Uint8Array }>(sql, chain, at)
  if (known && toHex(known.hash) !== hash) throw new ChainContradiction(chain, at - 1, toHex(known.hash))
}

interface RangeBoundary {
  readonly at: number
  readonly hash: string
}

const headersPerRequest = 16

/** Throws when the node, whose newest block is `head`, has another block at any seam than the one that was read, or has not come so far. */
export async function verifyContinuity(
  reader: StateReader,
  { chain, rpc }: ChainNode,
  head: number,
  options: RpcCallOptions,
): Promise<void> {
  const boundaries = await reader.all<{ at: number; hash: Uint8Array }>(
    // Of what comes before the first block nobody has read anything.
    'select at, hash from block_seams where chain = ? and at > ? order by at',
    ...[chain.id, chain.firstBlock],
  )
  const last = (boundaries.at(-1)?.at ?? 0) - 1
  if (last > head) throw nodeIsBehind(chain.id, head, last)
  for (let from = 0; from < boundaries.length; from += headersPerRequest) {
    const part = boundaries.slice(from, from + headersPerRequest)
    const headers = await rpc.results(
      part.map(({ at }) => headerCall(at - 1)),
      options,
    )
    for (const [index, { at, hash }] of part.entries()) {
      if (toHeader(headers[index]).hash !== toHex(hash)) throw new ChainContradiction(chain.id, at - 1, toHex(hash))
    }
  }
}

/** A node that is behind, or on a chain that was begun anew, cannot say anything about what was read. */
export const nodeIsBehind = (chain: string, head: number, read: number): Fault =>
  new Fault('explorer.node_unavailable', {
    detail: `chain ${chain}: the node is at block ${head}, behind block ${read}, which was final; wait until it has caught up. If the chain was begun anew, forget what was read of it with: tetrad repair --chain ${chain} --forget-from <first block>`,
  })

/** What the node says now is not what was read as final: asking it again does not help. */
export class ChainContradiction extends Fault {
  constructor(chain: string, block: number, hash: string) {
    super('explorer.node_unavailable', {
      detail: `chain ${chain}: the node has another block ${block} than the one that was final (${hash}); check that it is the right node. If it is, the chain itself has changed: forget what was read of it, from the first block that is another one now, with: tetrad repair --chain ${chain} --forget-from <block>`,
    })
  }
}
