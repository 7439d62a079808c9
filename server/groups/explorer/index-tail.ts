// What can happen at the end of a chain, and what each of it does to the store (decision 0018).
//
// 1. One event is one transaction: rows, kept blocks, coverage and head move together or not at all.
// 2. An event holds only for the run it was made for: when another process has moved the run meanwhile, it does nothing.
// 3. Final blocks are never taken back. A node that contradicts one is not believed.
import { headerCall, toHeader } from '#io/evm/blocks.ts'
import type { AskOptions } from '#io/evm/rpc.ts'
import type { SeenBlock } from '#io/evm/shapes.ts'
import type { State, StateWriter } from '#store/state.ts'
import { type Kept, keepBlock, keptBlocks, putNear, settle, takeBack } from './index-near.ts'
import { behind, Contradicted, coverJoined } from './index-seams.ts'
import type { ChainNode, Tip } from './node.ts'
import { putHead } from './standing.ts'
import { fundingsOf, transfersOf } from './transfers.ts'

export type TailEvent =
  /** The next block, on top of the run. */
  | { readonly is: 'block'; readonly seen: SeenBlock }
  /** Blocks from here on are no longer part of the chain. */
  | { readonly is: 'reorg'; readonly from: number }
  /** Blocks before this one are final. */
  | { readonly is: 'finalize'; readonly until: number }

/** The run after the events; undefined when it was not the one they were made for (invariant 2). */
export function apply(
  state: State,
  chain: string,
  run: readonly Kept[],
  events: readonly TailEvent[],
): Promise<Kept[] | undefined> {
  return state.write(async (tx) => {
    let kept = await keptBlocks(tx, chain)
    if (!sameRun(kept, run)) return undefined
    for (const event of events) kept = await applyOne(tx, chain, kept, event)
    return kept
  })
}

/** Numbers are unbroken and hashes name their parents, so both ends tell the whole run. */
const sameRun = (a: readonly Kept[], b: readonly Kept[]): boolean =>
  a.length === b.length && a[0]?.hash === b[0]?.hash && a.at(-1)?.hash === b.at(-1)?.hash

async function applyOne(tx: StateWriter, chain: string, run: readonly Kept[], event: TailEvent): Promise<Kept[]> {
  switch (event.is) {
    case 'block': {
      const { block } = event.seen
      await keepBlock(tx, chain, block)
      await putNear(tx, fundingsOf(chain, transfersOf(event.seen)))
      return [...run, { number: block.number, hash: block.hash }]
    }
    case 'reorg':
      await takeBack(tx, chain, event.from)
      return run.filter(({ number }) => number < event.from)
    case 'finalize': {
      const [hook] = run
      const left = run.filter(({ number }) => number >= event.until - 1)
      await settle(tx, chain, event.until)
      if (hook && left[0]) {
        const range = { from: hook.number + 1, until: event.until }
        await coverJoined(tx, chain, { ...range, parentHash: hook.hash, lastHash: left[0].hash })
      }
      await putHead(tx, chain, event.until)
      return left
    }
  }
}

/** Drops the run and hangs an empty one on the newest final block, all before which has been read. */
export const hookOn = (state: State, chain: string, final: Kept): Promise<Kept[]> =>
  state.write(async (tx) => {
    await takeBack(tx, chain, 0)
    await keepBlock(tx, chain, final)
    await putHead(tx, chain, final.number + 1)
    return [{ number: final.number, hash: final.hash }]
  })

/** What has happened to the run since it was last looked at, apart from new blocks. */
export async function changesOf(
  node: ChainNode,
  run: readonly Kept[],
  { head, final }: Tip,
  options: AskOptions,
): Promise<TailEvent[]> {
  const [hook] = run
  const top = run.at(-1)
  if (!hook || !top) return []
  const standing = await lastStanding(node, run, head.number, options)
  if (!standing) throw new Contradicted(node.chain.id, hook.number, hook.hash)
  const events: TailEvent[] = []
  if (standing.number < top.number) events.push({ is: 'reorg', from: standing.number + 1 })
  const until = Math.min(final?.number ?? 0, standing.number) + 1
  const atFinal = run.find(({ number }) => number === final?.number)
  // The run was checked a moment before or after the final block was named: only if both agree is anything settled.
  if (until > hook.number + 1 && (!atFinal || atFinal.hash === final?.hash)) events.push({ is: 'finalize', until })
  return events
}

const headersPerAsk = 16

/** The highest block of the run that the node still has. Usually the top one, so that is asked for alone first. */
async function lastStanding(
  node: ChainNode,
  run: readonly Kept[],
  head: number,
  options: AskOptions,
): Promise<Kept | undefined> {
  const downward = run.filter(({ number }) => number <= head).reverse()
  for (let at = 0, count = 1; at < downward.length; at += count, count = headersPerAsk) {
    const part = downward.slice(at, at + count)
    const headers = await node.rpc.results(
      part.map(({ number }) => headerCall(number)),
      options,
    )
    const found = part.find(({ hash }, index) => toHeader(headers[index]).hash === hash)
    if (found) return found
  }
  // A node that is behind has seen too little to say anything about the run.
  if (downward.length === 0) throw behind(node.chain.id, head, run[0]?.number ?? 0)
  return undefined
}
