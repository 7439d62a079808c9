// Which blocks the covered stretches of a chain begin after and end with, so that what is read beside them, whenever and
// from whichever node, is of the same chain (decision 0178).
//
// 1. A seam at n is the hash of block n - 1, where a covered stretch begins or ends at n. It is written with the coverage;
//    where two stretches meet, both have to know the same one, and it goes.
// 2. `forgetFrom` may leave a range that ends without a hash. The next range is then accepted without this check.
import { Fault } from '#core/fault.ts'
import type { Range } from '#core/ranges.ts'
import { headerCall, toHeader } from '#io/evm/blocks.ts'
import type { AskOptions } from '#io/evm/rpc.ts'
import { cover, coverageOf } from '#store/coverage.ts'
import type { StateReader, StateWriter } from '#store/state.ts'
import { bytesOf, hexOf } from './fundings.ts'
import type { ChainNode } from './node.ts'
import { blocksOf } from './standing.ts'

/** Final blocks that were read: the parent of the first, and the last. */
export interface ReadRange extends Range {
  readonly parentHash: string
  readonly lastHash: string
}

/** Covers the range, unless a stretch beside it is of another chain. */
export async function coverJoined(tx: StateWriter, chain: string, range: ReadRange): Promise<void> {
  const { from, until, parentHash, lastHash } = range
  if (from === until) return
  const ends = [
    { at: from, hash: parentHash },
    { at: until, hash: lastHash },
  ]
  for (const end of ends) await checkSeam(tx, chain, end)
  await cover(tx, blocksOf(chain), from, until)
  const covered = await coverageOf(tx, blocksOf(chain))
  const whole = covered.find((one) => one.from <= from && until <= one.until) ?? range
  await tx.run('delete from block_seams where chain = ? and at > ? and at < ?', chain, whole.from, whole.until)
  for (const { at, hash } of ends) {
    if (at === whole.from || at === whole.until) await putSeam(tx, chain, at, hash)
  }
}

async function putSeam(tx: StateWriter, chain: string, at: number, hash: string): Promise<void> {
  const sql = 'insert into block_seams (chain, at, hash) values (?, ?, ?) on conflict (chain, at) do nothing'
  await tx.run(sql, chain, at, bytesOf(hash, 32))
}

/** Throws when block `at - 1` was another one when a stretch that ends there was read. */
async function checkSeam(reader: StateReader, chain: string, { at, hash }: Seam): Promise<void> {
  const sql = 'select hash from block_seams where chain = ? and at = ?'
  const known = await reader.get<{ hash: Uint8Array }>(sql, chain, at)
  if (known && hexOf(known.hash) !== hash) throw new Contradicted(chain, at - 1, hexOf(known.hash))
}

interface Seam {
  readonly at: number
  readonly hash: string
}

const headersPerAsk = 16

/** Throws when the node, whose newest block is `head`, has another block at any seam than the one that was read, or has not come so far. */
export async function checkSeams(
  reader: StateReader,
  { chain, rpc }: ChainNode,
  head: number,
  options: AskOptions,
): Promise<void> {
  const seams = await reader.all<{ at: number; hash: Uint8Array }>(
    // Of what comes before the first block nobody has read anything.
    'select at, hash from block_seams where chain = ? and at > ? order by at',
    ...[chain.id, chain.firstBlock],
  )
  const last = (seams.at(-1)?.at ?? 0) - 1
  if (last > head) throw behind(chain.id, head, last)
  for (let from = 0; from < seams.length; from += headersPerAsk) {
    const part = seams.slice(from, from + headersPerAsk)
    const headers = await rpc.results(
      part.map(({ at }) => headerCall(at - 1)),
      options,
    )
    for (const [index, { at, hash }] of part.entries()) {
      if (toHeader(headers[index]).hash !== hexOf(hash)) throw new Contradicted(chain.id, at - 1, hexOf(hash))
    }
  }
}

/** A node that is behind, or on a chain that was begun anew, cannot say anything about what was read. */
export const behind = (chain: string, head: number, read: number): Fault =>
  new Fault('explorer.node_unavailable', {
    detail: `chain ${chain}: the node is at block ${head}, behind block ${read}, which was final; wait until it has caught up. If the chain was begun anew, forget what was read of it with: tetrad repair --chain ${chain} --forget-from <first block>`,
  })

/** What the node says now is not what was read as final: asking it again does not help. */
export class Contradicted extends Fault {
  constructor(chain: string, block: number, hash: string) {
    super('explorer.node_unavailable', {
      detail: `chain ${chain}: the node has another block ${block} than the one that was final (${hash}); check that it is the right node. If it is, the chain itself has changed: forget what was read of it, from the first block that is another one now, with: tetrad repair --chain ${chain} --forget-from <block>`,
    })
  }
}
