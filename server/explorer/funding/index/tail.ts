// The unfinalized end of a chain: detects new blocks, reorganisations and finality, and applies them to the store
// (behaviour/explorer.md#unfinalized-blocks-in-the-index). The run is the sequence of stored unfinalized blocks.
//
// 1. All events of a call are one transaction: rows, blocks, coverage and head change together.
// 2. Events apply only to the run they were made for. If another process has changed the run, they do nothing.
// 3. Final blocks are never removed. A node that contradicts one is rejected.

import type { ChainNode } from '#explorer/nodes.ts'
import type { Tip } from '#explorer/tip.ts'
import { headerCall, toHeader } from '#sources/evm/blocks.ts'
import type { RpcCallOptions } from '#sources/evm/rpc.ts'
import type { BlockWithExecution } from '#sources/evm/types.ts'
import { removeCoverageFrom } from '#storage/coverage.ts'
import type { State, StateWriter } from '#storage/state.ts'
import { putHead } from '../chain-coverage.ts'
import { fundingsOf, transfersOf } from '../transfers.ts'
import { ChainContradiction, coverLinkedRange, headersPerRequest, nodeIsBehind } from './continuity.ts'
import { isLogged, logsStream, putLoggedBlocks } from './transfer-logs.ts'
import {
  addUnfinalizedBlock,
  finalizeBlocksBefore,
  putUnfinalizedFundings,
  readUnfinalizedBlocks,
  revertBlocksFrom,
  type UnfinalizedBlock,
} from './unfinalized.ts'

export type TailEvent =
  /** The next block after the run. */
  | { readonly is: 'block'; readonly seen: BlockWithExecution }
  /** Blocks from here on are no longer part of the chain. */
  | { readonly is: 'reorg'; readonly from: number }
  /** Blocks before this one are final. */
  | { readonly is: 'finalize'; readonly until: number }

/** Returns the new run; undefined if another process has changed the stored one (rule 2). */
export function applyEvents(
  state: State,
  chain: string,
  run: readonly UnfinalizedBlock[],
  events: readonly TailEvent[],
): Promise<UnfinalizedBlock[] | undefined> {
  return state.write(
    async (tx) => {
      let blocks = await readUnfinalizedBlocks(tx, chain)
      if (!isSameRun(blocks, run)) return undefined
      for (const event of events) blocks = await applyEvent(tx, chain, blocks, event)
      return blocks
    },
    { lock: `chain:${chain}` },
  )
}

/** Blocks link to their parents, so comparing both ends is enough. */
const isSameRun = (a: readonly UnfinalizedBlock[], b: readonly UnfinalizedBlock[]): boolean =>
  a.length === b.length && a[0]?.hash === b[0]?.hash && a.at(-1)?.hash === b.at(-1)?.hash

async function applyEvent(
  tx: StateWriter,
  chain: string,
  run: readonly UnfinalizedBlock[],
  event: TailEvent,
): Promise<UnfinalizedBlock[]> {
  switch (event.is) {
    case 'block': {
      const { block } = event.seen
      await addUnfinalizedBlock(tx, chain, block)
      const range = { from: block.number, until: block.number + 1 }
      await putLoggedBlocks(tx, chain, range, isLogged(event.seen) ? [range] : [])
      await putUnfinalizedFundings(tx, fundingsOf(chain, transfersOf(event.seen)))
      return [...run, { number: block.number, hash: block.hash }]
    }
    case 'reorg':
      await revertBlocksFrom(tx, chain, event.from)
      await removeCoverageFrom(tx, logsStream(chain), event.from)
      return run.filter(({ number }) => number < event.from)
    case 'finalize': {
      const [anchor] = run
      const left = run.filter(({ number }) => number >= event.until - 1)
      await finalizeBlocksBefore(tx, chain, event.until)
      if (anchor && left[0]) {
        const range = { from: anchor.number + 1, until: event.until }
        await coverLinkedRange(tx, chain, { ...range, parentHash: anchor.hash, lastHash: left[0].hash })
      }
      await putHead(tx, chain, event.until)
      return left
    }
  }
}

/** Starts a new run after the newest final block. All blocks up to it must be indexed. */
export const resetToAnchor = (state: State, chain: string, final: UnfinalizedBlock): Promise<UnfinalizedBlock[]> =>
  state.write(
    async (tx) => {
      await revertBlocksFrom(tx, chain, 0)
      await addUnfinalizedBlock(tx, chain, final)
      await putHead(tx, chain, final.number + 1)
      return [{ number: final.number, hash: final.hash }]
    },
    { lock: `chain:${chain}` },
  )

/** Reorganisations and finality since the last pass. New blocks are added separately. */
export async function detectChanges(
  node: ChainNode,
  run: readonly UnfinalizedBlock[],
  { head, final }: Tip,
  options: RpcCallOptions,
): Promise<TailEvent[]> {
  const [anchor] = run
  const top = run.at(-1)
  if (!anchor || !top) return []
  const canonical = await findLastCanonical(node, run, head.number, options)
  if (!canonical) throw new ChainContradiction(node.chain.id, anchor.number, anchor.hash)
  const events: TailEvent[] = []
  if (canonical.number < top.number) events.push({ is: 'reorg', from: canonical.number + 1 })
  const until = Math.min(final?.number ?? 0, canonical.number) + 1
  const atFinal = run.find(({ number }) => number === final?.number)
  // The run and the final block were read at different moments. Finalize only if they agree.
  if (until > anchor.number + 1 && (!atFinal || atFinal.hash === final?.hash)) events.push({ is: 'finalize', until })
  return events
}

/**
 * The newest block of the run that the node still has. Usually it is the last one, so that is requested alone first.
 */
async function findLastCanonical(
  node: ChainNode,
  run: readonly UnfinalizedBlock[],
  head: number,
  options: RpcCallOptions,
): Promise<UnfinalizedBlock | undefined> {
  const downward = run.filter(({ number }) => number <= head).reverse()
  for (let at = 0, count = 1; at < downward.length; at += count, count = headersPerRequest) {
    const part = downward.slice(at, at + count)
    const calls = part.map(({ number }) => headerCall(number))
    const headers = await node.rpc.results(calls, options)
    const found = part.find(({ hash }, index) => toHeader(headers[index]).hash === hash)
    if (found) return found
  }
  // A node that is behind the whole run cannot contradict it.
  if (downward.length === 0) throw nodeIsBehind(node.chain.id, head, run[0]?.number ?? 0)
  return undefined
}
