// Reads a chain from its first block to its head (behaviour/explorer.md#final-blocks-in-the-index): final blocks in ranges, several at a time and in any
// order, then the run of newer ones, one after another.
//
// 1. A range's rows and its coverage are one transaction: after a crash the holes are exactly what is not there.
// 2. Only final blocks go to the fundings; nearer ones are kept apart (index-tail.ts).
// 3. Nothing is read without traces: a coverage that misses internal transfers would be a lie.
// 4. Blocks of a range hang together, with the one after it, and with what was read on both sides of it before
//    (index-seams.ts): nodes that are not on the same chain are not mixed, neither at once nor one after another.
// 5. A block that no node can trace is left out and reported; the blocks around it are read (index-trouble.ts).
import { Fault } from '#core/fault.ts'
import { holes, type Range } from '#core/ranges.ts'
import type { ExplorerContext } from '#explorer/context.ts'
import type { ChainNode, Tip } from '#explorer/nodes.ts'
import { headerCall, toHeader } from '#sources/evm/blocks.ts'
import type { RpcCallOptions } from '#sources/evm/rpc.ts'
import { UnreadableBlock } from '#sources/evm/trace-recovery.ts'
import type { BlockWithExecution, Header } from '#sources/evm/types.ts'
import { coverageOf } from '#storage/coverage.ts'
import { blocksStream, confirmHead, putHead } from '../coverage.ts'
import { type Funding, isBefore, putFundings } from '../fundings.ts'
import { fundingsOf, transfersOf } from '../transfers.ts'
import { coverLinkedRange, verifyContinuity } from './continuity.ts'
import { blocksAwaitingRetry, getIndexProblems, recordUnreadable } from './problems.ts'
import { applyEvents, detectChanges, resetToAnchor, type TailEvent } from './tail.ts'
import { readUnfinalizedBlocks, type UnfinalizedBlock } from './unfinalized.ts'

export type IndexProgress =
  /** How many blocks are still to be read, and how far the chain goes. */
  | { readonly is: 'plan'; readonly blocks: number; readonly finalUntil: number }
  | { readonly is: 'range'; readonly range: Range; readonly rows: number }
  /** A block that no node can trace; it is tried again later. */
  | { readonly is: 'unreadable'; readonly block: number; readonly reason: string }
  /** The run of blocks that are not final: where it ends, and how many blocks were taken back to get there. */
  | { readonly is: 'near'; readonly head: number; readonly revertedBlocks: number }

export type OnIndexProgress = (progress: IndexProgress) => void

/** Blocks held in memory at a time, by each reader: their traces are large. */
const blocksPerRead = 8
const runBlocksPerRead = 8
/** More blocks than this that cannot be read in one pass are no exception: the pass ends with the error. */
const unreadableMax = 16

/** Brings the index up to the chain's present head. */
export async function catchUpIndex(
  context: ExplorerContext,
  node: ChainNode,
  onProgress: OnIndexProgress,
  signal?: AbortSignal,
): Promise<void> {
  const options = signal ? { signal } : {}
  await requireTraces(node)
  const {
    requestedMs: askedMs,
    tip,
    final,
    run: settled,
    revertedBlocks: takenBack,
  } = await reconcileRun(context, node, options)
  if (!settled) return
  const { number, hash } = final
  await fillFinalBlocks(
    context,
    node,
    { from: node.chain.firstBlock, until: number + 1, lastHash: hash },
    onProgress,
    signal,
  )
  const top = settled.at(-1)
  const run = top && top.number >= number ? settled : await resetToAnchor(context.state, node.chain.id, final)
  const head = await extendUnfinalized(context, node, run, tip, options, onProgress)
  await confirmHead(context.state, node.chain.id, number + 1, askedMs)
  onProgress({ is: 'near', head, revertedBlocks: takenBack })
}

/** Reads what is missing of the span, as far as it is final, from a node that does not contradict what was read before. */
export async function repairIndex(
  context: ExplorerContext,
  node: ChainNode,
  span: Range,
  onProgress: OnIndexProgress,
  signal?: AbortSignal,
): Promise<void> {
  const { requestedMs: askedMs, final } = await reconcileRun(context, node, signal ? { signal } : {})
  const end = final.number + 1
  const from = Math.max(span.from, node.chain.firstBlock)
  const until = Math.max(from, Math.min(span.until, end))
  await fillFinalBlocks(
    context,
    node,
    { from, until, ...(until === end && { lastHash: final.hash }) },
    onProgress,
    signal,
  )
  const isWhole = from === node.chain.firstBlock && until === end
  if (isWhole && !signal?.aborted) await confirmHead(context.state, node.chain.id, end, askedMs)
}

interface ReconciledRun {
  /** When the node was asked for its head; reading up to there may take days. */
  readonly requestedMs: number
  readonly tip: Tip
  readonly final: Header
  /** undefined: another process has moved it meanwhile. */
  readonly run: readonly UnfinalizedBlock[] | undefined
  readonly revertedBlocks: number
}

/** Brings the run of newer blocks up to what the node says of them now. */
async function reconcileRun(
  context: ExplorerContext,
  node: ChainNode,
  options: RpcCallOptions,
): Promise<ReconciledRun> {
  const askedMs = context.clock.now()
  const tip = await node.tip(options)
  const { final } = tip
  if (!final)
    throw new Fault('explorer.node_unavailable', {
      detail: `chain ${node.chain.id}: the node names no final block; set finalityBlocks`,
    })
  await verifyContinuity(context.state, node, tip.head.number, options)
  const stored = await readUnfinalizedBlocks(context.state, node.chain.id)
  const events = await detectChanges(node, stored, tip, options)
  const run = events.length > 0 ? await applyEvents(context.state, node.chain.id, stored, events) : stored
  return { requestedMs: askedMs, tip, final, run, revertedBlocks: countRevertedBlocks(stored, events) }
}

/** Final blocks; `lastHash` is that of the last one, where it is known. */
export interface FinalRange extends Range {
  readonly lastHash?: string
}

/** Reads the final blocks of the span that are not covered yet. */
export async function fillFinalBlocks(
  context: ExplorerContext,
  node: ChainNode,
  span: FinalRange,
  onProgress: OnIndexProgress,
  signal?: AbortSignal,
): Promise<void> {
  const { rangeBlocks, parallel } = context.settings.explorer.index
  await requireTraces(node)
  const problems = getIndexProblems(context, node.chain.id)
  const covered = await coverageOf(context.state, blocksStream(node.chain.id))
  for (const { block } of problems.unreadable.values())
    if (covered.some(({ from, until }) => from <= block && block < until)) problems.unreadable.delete(block)
  const waiting = blocksAwaitingRetry(problems, context.clock.monotonicMs())
  const missing = withoutBlocks(holes(covered, span), waiting)
  const blocks = missing.reduce((sum, { from, until }) => sum + until - from, 0)
  onProgress({ is: 'plan', blocks, finalUntil: span.until })
  const ranges = splitRanges(missing, rangeBlocks)
  const failed = new AbortController()
  const stop = signal ? AbortSignal.any([signal, failed.signal]) : failed.signal
  let unreadable = 0
  const read = async (range: Range): Promise<void> => {
    try {
      onProgress({ is: 'range', range, rows: await readRange(context, node, range, span, stop) })
    } catch (error) {
      if (!(error instanceof UnreadableBlock) || stop.aborted || ++unreadable > unreadableMax) throw error
      recordUnreadable(problems, error.block, error.reason, context.clock.monotonicMs())
      onProgress({ is: 'unreadable', block: error.block, reason: error.reason })
      for (const part of withoutBlocks([range], [error.block])) await read(part)
    }
  }
  const work = async () => {
    for (const range of ranges) {
      if (stop.aborted) return
      await read(range)
    }
  }
  // All of them draw from the one generator, so each range is read by one. What fails first ends the others.
  let cause: { readonly error: unknown } | undefined
  const readers = Array.from({ length: parallel }, () =>
    work().catch((error: unknown) => {
      cause ??= { error }
      failed.abort()
    }),
  )
  await Promise.all(readers)
  if (cause && !signal?.aborted) throw cause.error
}

function withoutBlocks(ranges: readonly Range[], blocks: readonly number[]): Range[] {
  return ranges.flatMap((range) =>
    holes(
      blocks.toSorted((a, b) => a - b).map((block) => ({ from: block, until: block + 1 })),
      range,
    ),
  )
}

/** Cut at multiples of the size, so that a range that is read again is the same range. */
function* splitRanges(missing: readonly Range[], size: number): Generator<Range, undefined> {
  for (const { from, until } of missing) {
    for (let at = from; at < until; ) {
      const end = Math.min(until, (Math.floor(at / size) + 1) * size)
      yield { from: at, until: end }
      at = end
    }
  }
}

async function readRange(
  context: ExplorerContext,
  node: ChainNode,
  range: Range,
  span: FinalRange,
  signal: AbortSignal,
): Promise<number> {
  const chain = node.chain.id
  const first = new Map<string, Funding>()
  let parentHash = ''
  let last: Header | undefined
  for (let from = range.from; from < range.until; from += blocksPerRead) {
    const numbers = blockNumbers({ from, until: Math.min(range.until, from + blocksPerRead) })
    for (const seen of await node.read(numbers, { signal })) {
      if (last && seen.block.parentHash !== last.hash) throw blocksNotLinked(chain, seen.block.number)
      if (!last) parentHash = seen.block.parentHash
      last = seen.block
      for (const row of fundingsOf(chain, transfersOf(seen))) {
        const known = first.get(row.address)
        if (!known || isBefore(row, known)) first.set(row.address, row)
      }
    }
  }
  const lastHash = range.until < span.until ? await parentHashOf(node, range.until, signal) : span.lastHash
  if (!last || (lastHash !== undefined && last.hash !== lastHash)) throw blocksNotLinked(chain, range.until)
  const read = { ...range, parentHash, lastHash: last.hash }
  return context.state.write(async (tx) => {
    const rows = await putFundings(tx, first.values())
    await coverLinkedRange(tx, chain, read)
    await putHead(tx, chain, span.until)
    return rows
  })
}

async function parentHashOf(node: ChainNode, number: number, signal: AbortSignal): Promise<string> {
  const [header] = await node.rpc.results([headerCall(number)], { signal })
  return toHeader(header).parentHash
}

const blocksNotLinked = (chain: string, block: number): Fault =>
  new Fault('explorer.node_unavailable', {
    detail: `chain ${chain}: block ${block} and the one before it, both final, do not belong to the same chain; check whether one of the nodes is on a fork`,
  })

/** Adds the blocks above the run, as far as each is the child of the one before. Tells where it ends. */
async function extendUnfinalized(
  context: ExplorerContext,
  node: ChainNode,
  from: readonly UnfinalizedBlock[],
  { head }: Tip,
  options: RpcCallOptions,
  onProgress: OnIndexProgress,
): Promise<number> {
  let run = from
  const problems = getIndexProblems(context, node.chain.id)
  const endMax = (run[0]?.number ?? 0) + context.settings.explorer.index.nearMax
  for (;;) {
    const top = run.at(-1) as UnfinalizedBlock
    const waiting = blocksAwaitingRetry(problems, context.clock.monotonicMs()).filter((block) => block > top.number)
    const until = Math.min(head.number + 1, endMax + 1, top.number + runBlocksPerRead + 1, ...waiting)
    if (until <= top.number + 1 || options.signal?.aborted) return top.number
    let seen: BlockWithExecution[]
    try {
      seen = await node.read(blockNumbers({ from: top.number + 1, until }), options)
    } catch (error) {
      if (!(error instanceof UnreadableBlock)) throw error
      // The run ends before it for now. Once it is final, the blocks behind it are read without it.
      recordUnreadable(problems, error.block, error.reason, context.clock.monotonicMs())
      onProgress({ is: 'unreadable', block: error.block, reason: error.reason })
      continue
    }
    const events: TailEvent[] = []
    let parent = top.hash
    for (const one of seen) {
      // The chain has changed under us; the next look finds out where.
      if (one.block.parentHash !== parent) break
      parent = one.block.hash
      events.push({ is: 'block', seen: one })
    }
    const extended = events.length > 0 ? await applyEvents(context.state, node.chain.id, run, events) : undefined
    if (!extended) return top.number
    run = extended
  }
}

async function requireTraces(node: ChainNode): Promise<void> {
  const { traces } = await node.capabilities()
  if (traces) return
  throw new Fault('explorer.no_traces', {
    detail: `chain ${node.chain.id}: no node can trace, so internal transfers would not be seen; an index needs trace_block or callTracer`,
  })
}

const blockNumbers = ({ from, until }: Range): number[] => Array.from({ length: until - from }, (_, at) => from + at)

const countRevertedBlocks = (before: readonly UnfinalizedBlock[], events: readonly TailEvent[]): number =>
  events.reduce(
    (sum, event) => sum + (event.is === 'reorg' ? before.filter(({ number }) => number >= event.from).length : 0),
    0,
  )
