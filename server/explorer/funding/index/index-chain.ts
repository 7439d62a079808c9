// Indexes a chain from its first block to its head (behaviour/explorer.md#final-blocks-in-the-index): final blocks in
// ranges, several at a time and in any order, then the unfinalized blocks in sequence.
//
// 1. Rows and coverage of a range are in one transaction (range-writer.ts), so after a crash the gaps are exactly what is
//    missing.
// 2. Only final blocks are written to `fundings`. Unfinalized blocks have their own tables (tail.ts).
// 3. Nothing is indexed without traces or verified logs: the coverage would claim blocks whose internal transfers are
//    missing.
// 4. Blocks of a range must link to each other, to the next block and to the ranges on both sides (continuity.ts), so
//    that blocks of different chains are never mixed.
// 5. With several nodes, one block of each range is compared between them (compare-nodes.ts).
// 6. A block that no node can trace is left out and reported; the other blocks are indexed (problems.ts).
// 7. After the Amsterdam fork, the header of a block has its hash. Blocks with unknown fields are reported (problems.ts).
// 8. Of each range that was read from logs, one block is compared with its access list (transfer-logs.ts).
import { Fault } from '#core/fault.ts'
import { holes, merge, type Range } from '#core/ranges.ts'
import type { ExplorerContext } from '#explorer/context.ts'
import { type ChainNode, isAwaitingFinality } from '#explorer/nodes.ts'
import type { Tip } from '#explorer/tip.ts'
import { headMaxAgeMs } from '#runtime/settings/explorer.ts'
import { headerCall, toHeader } from '#sources/evm/blocks.ts'
import type { RpcCallOptions } from '#sources/evm/rpc.ts'
import { UnreadableBlock } from '#sources/evm/trace-recovery.ts'
import type { BlockWithExecution, Header } from '#sources/evm/types.ts'
import { coverageOf } from '#storage/coverage.ts'
import { blocksStream, confirmHead } from '../chain-coverage.ts'
import type { Funding } from '../fundings.ts'
import { fundingsOf, transfersOf } from '../transfers.ts'
import { chooseSample, compareNodes } from './compare-nodes.ts'
import { verifyContinuity } from './continuity.ts'
import {
  blocksAwaitingRetry,
  getIndexProblems,
  recordContradictedLogs,
  recordUnreadable,
  recordUnverifiedHeader,
} from './problems.ts'
import { createRangeWriter, type ReadRange } from './range-writer.ts'
import { blocksPerReadMin, ReadSize } from './read-size.ts'
import { applyEvents, detectChanges, resetToAnchor, type TailEvent } from './tail.ts'
import { findLogContradiction, isLogged } from './transfer-logs.ts'
import { readUnfinalizedBlocks, type UnfinalizedBlock } from './unfinalized.ts'

export type IndexProgress =
  /** How many blocks are missing, and where the final blocks end. */
  | { readonly is: 'plan'; readonly blocks: number; readonly finalUntil: number }
  /** Final blocks of one transaction, and how many rows it changed. */
  | { readonly is: 'written'; readonly blocks: number; readonly rows: number }
  /** No node can trace the block; it is retried later. */
  | { readonly is: 'unreadable'; readonly block: number; readonly reason: string }
  /** The newest unfinalized block, and how many blocks a reorganisation removed. */
  | { readonly is: 'unfinalized'; readonly head: number; readonly revertedBlocks: number }

export type OnIndexProgress = (progress: IndexProgress) => void

/** Per pass and in all. With more unreadable blocks the node is probably at fault, so the pass fails. */
const unreadableMax = 16
const unreadableTotalMax = 1000

/** Indexes everything up to the chain's current head. */
export async function catchUpIndex(
  context: ExplorerContext,
  node: ChainNode,
  onProgress: OnIndexProgress,
  signal?: AbortSignal,
): Promise<void> {
  const options = signal ? { signal } : {}
  await requireTransfers(node)
  const { requestedMs, tip, final, run: reconciled, revertedBlocks } = await reconcileRun(context, node, options)
  if (!reconciled) return
  const { number, hash } = final
  const finalBlocks = { from: node.chain.firstBlock, until: number + 1, lastHash: hash }
  await fillFinalBlocks(context, node, finalBlocks, onProgress, signal)
  const top = reconciled.at(-1)
  const run = top && top.number >= number ? reconciled : await resetToAnchor(context.ingest, node.chain.id, final)
  const head = await extendUnfinalized(context, node, run, tip, options, onProgress)
  await confirmHead(context.ingest, node.chain.id, number + 1, requestedMs, checkedHead(node, tip))
  onProgress({ is: 'unfinalized', head, revertedBlocks })
}

/** Indexes the missing final blocks of a range, if the node does not contradict the index. */
export async function repairIndex(
  context: ExplorerContext,
  node: ChainNode,
  range: Range,
  onProgress: OnIndexProgress,
  signal?: AbortSignal,
): Promise<void> {
  const { requestedMs, tip, final } = await reconcileRun(context, node, signal ? { signal } : {})
  const end = final.number + 1
  const from = Math.max(range.from, node.chain.firstBlock)
  const until = Math.max(from, Math.min(range.until, end))
  const requested = { from, until, ...(until === end && { lastHash: final.hash }) }
  await fillFinalBlocks(context, node, requested, onProgress, signal)
  const isWholeChain = from === node.chain.firstBlock && until === end
  if (isWholeChain && !signal?.aborted)
    await confirmHead(context.ingest, node.chain.id, end, requestedMs, checkedHead(node, tip))
}

const checkedHead = ({ chain }: ChainNode, { head }: Tip) => (headMaxAgeMs(chain) === 0 ? undefined : head)

/**
 * Applies reorganisations and finality to the stored unfinalized blocks. `run` is undefined if another process has
 * changed them meanwhile.
 */
async function reconcileRun(context: ExplorerContext, node: ChainNode, given: RpcCallOptions) {
  // Before the request: the head is confirmed as of this time, and indexing up to it may take days.
  const requestedMs = context.clock.now()
  const tip = await node.tip(given)
  const { final, first, doubt } = tip
  if (!final)
    throw new Fault('explorer.node_unavailable', {
      detail: `chain ${node.chain.id}: ${doubt ?? (isAwaitingFinality(node) ? 'waiting for the first final block' : 'the node reports no finalized block; set explorer.chains[].finalityBlocks')}`,
    })
  const options = first === undefined ? given : { ...given, first }
  await verifyContinuity(context.ingest, node, tip.head.number, options)
  const stored = await readUnfinalizedBlocks(context.ingest, node.chain.id)
  const events = await detectChanges(node, stored, tip, options)
  const run = events.length > 0 ? await applyEvents(context.ingest, node.chain.id, stored, events) : stored
  return { requestedMs, tip, final, run, revertedBlocks: countRevertedBlocks(stored, events) }
}

/** Final blocks. `lastHash` is the hash of the last one, if it is known. */
export interface FinalRange extends Range {
  readonly lastHash?: string
}

/** Indexes the final blocks of a range that are not covered yet. */
export async function fillFinalBlocks(
  context: ExplorerContext,
  node: ChainNode,
  whole: FinalRange,
  onProgress: OnIndexProgress,
  signal?: AbortSignal,
): Promise<void> {
  const { rangeBlocks, parallel } = context.settings.explorer.index
  const problems = getIndexProblems(context, node.chain.id)
  await requireTransfers(node)
  const covered = await coverageOf(context.ingest, blocksStream(node.chain.id))
  for (const { block } of problems.unreadable.values())
    if (covered.some(({ from, until }) => from <= block && block < until)) problems.unreadable.delete(block)
  const waiting = blocksAwaitingRetry(problems, context.clock.monotonicMs())
  const missing = withoutBlocks(holes(covered, whole), waiting)
  const blocks = missing.reduce((sum, { from, until }) => sum + until - from, 0)
  onProgress({ is: 'plan', blocks, finalUntil: whole.until })
  const ranges = splitRanges(missing, rangeBlocks)
  const failed = new AbortController()
  const stop = signal ? AbortSignal.any([signal, failed.signal]) : failed.signal
  let unreadable = 0
  const writer = createRangeWriter(context, node.chain.id, whole.until, (blocks, rows) =>
    onProgress({ is: 'written', blocks, rows }),
  )
  const size = new ReadSize()
  const read = async (range: Range): Promise<void> => {
    try {
      await writer.add(await readRange(context, node, range, whole, size, stop))
    } catch (error) {
      if (!(error instanceof UnreadableBlock) || stop.aborted) throw error
      if (++unreadable > unreadableMax || problems.unreadable.size >= unreadableTotalMax) throw error
      recordUnreadable(problems, error.block, error.reason, context.clock.monotonicMs())
      onProgress({ is: 'unreadable', block: error.block, reason: error.reason })
      for (const part of withoutBlocks([range], [error.block])) await read(part)
    }
  }
  const work = async () => {
    for (const range of ranges) {
      if (stop.aborted) return
      await read(range).catch((error: unknown) => fail(error, range))
    }
  }
  // The readers share one generator, so each range is read once. The first failure stops all readers.
  let firstFailure: { readonly error: unknown } | undefined
  const fail = (error: unknown, range?: Range) => {
    if (!firstFailure) problems.failedRange = range
    firstFailure ??= { error }
    failed.abort()
  }
  await Promise.all(Array.from({ length: parallel }, () => work()))
  await writer.flush().catch((error: unknown) => fail(error))
  if (firstFailure && !signal?.aborted) throw firstFailure.error
}

function withoutBlocks(ranges: readonly Range[], blocks: readonly number[]): Range[] {
  const excluded = blocks.toSorted((a, b) => a - b).map((block) => ({ from: block, until: block + 1 }))
  return ranges.flatMap((range) => holes(excluded, range))
}

/** Splits at multiples of `size`, so that a retry reads the same ranges. */
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
  whole: FinalRange,
  size: ReadSize,
  signal: AbortSignal,
  isRetry = false,
): Promise<ReadRange> {
  const chain = node.chain.id
  const logged: Range[] = []
  let loggedSample: BlockWithExecution | undefined
  const first = new Map<string, Funding>()
  let parentHash = ''
  let last: Header | undefined
  let sample: BlockWithExecution | undefined
  for (let from = range.from; from < range.until; ) {
    const until = Math.min(range.until, from + size.blocks)
    const blocks = await readWithTransfers(context, node, { from, until }, { signal })
    size.measure(blocks)
    from = until
    for (const seen of blocks) {
      if (last && !isNextBlock(last, seen.block)) throw blocksNotLinked(chain, seen.block.number)
      if (!last) parentHash = seen.block.parentHash
      last = seen.block
      sample = chooseSample(sample, seen)
      if (isLogged(seen)) {
        loggedSample = chooseSample(loggedSample, seen)
        logged.push({ from: seen.block.number, until: seen.block.number + 1 })
      }
      // The blocks are in ascending order.
      for (const row of fundingsOf(chain, transfersOf(seen))) first.getOrInsert(row.address, row)
    }
  }
  const lastHash = range.until < whole.until ? await parentHashOf(node, range.until, signal) : whole.lastHash
  if (!last || (lastHash !== undefined && last.hash !== lastHash)) throw blocksNotLinked(chain, range.until)
  if (sample && node.chain.rpc.length > 1 && context.settings.explorer.index.compareNodes)
    getIndexProblems(context, chain).notCompared = await compareNodes(node, sample, { signal })
  const contradiction = loggedSample && (await findLogContradiction(node, loggedSample, { signal }))
  if (loggedSample && contradiction !== undefined) {
    const { number } = loggedSample.block
    recordContradictedLogs(getIndexProblems(context, chain), number, contradiction)
    if (isRetry || !(await node.capabilities()).traces) throw new UnreadableBlock(number, contradiction)
    node.distrustLogs()
    return readRange(context, node, range, whole, size, signal, true)
  }
  return { ...range, parentHash, lastHash: last.hash, fundings: [...first.values()], logged: merge(logged) }
}

/** Blocks with all their transfers. */
async function readWithTransfers(
  context: ExplorerContext,
  node: ChainNode,
  range: Range,
  options: RpcCallOptions,
): Promise<BlockWithExecution[]> {
  const blocks = await node.read(blockNumbers(range), options)
  for (const { block, execution } of blocks) {
    if (block.amsterdam && block.amsterdam.headerHash !== 'verified')
      recordUnverifiedHeader(getIndexProblems(context, node.chain.id), block.number)
    if (execution.form === 'receipts' && block.transactions.length > 0) throw noTransfers(node.chain.id, block.number)
    if (execution.form === 'traced' && execution.contradiction !== undefined)
      recordContradictedLogs(getIndexProblems(context, node.chain.id), block.number, execution.contradiction)
  }
  return blocks
}

const noTransfers = (chain: string, block: number): Fault =>
  new Fault('explorer.no_traces', {
    detail: `chain ${chain}: block ${block} has no logs of transfers, because it is from before the Amsterdam fork, and no node supports traces. Add a node with trace_block or debug_traceBlockByNumber`,
  })

const isNextBlock = (parent: Header, { parentHash, timeUnix }: Header): boolean =>
  parentHash === parent.hash && timeUnix >= parent.timeUnix

async function parentHashOf(node: ChainNode, number: number, signal: AbortSignal): Promise<string> {
  const [header] = await node.rpc.results([headerCall(number)], { signal })
  return toHeader(header).parentHash
}

const blocksNotLinked = (chain: string, block: number): Fault =>
  new Fault('explorer.node_unavailable', {
    detail: `chain ${chain}: finalized block ${block} does not link to block ${block - 1}, or has an earlier time. Check whether one of the nodes is on a fork`,
  })

/** Adds the blocks after the run, as long as each links to the one before. Returns the number of the last block. */
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
  const endMax = (run[0]?.number ?? 0) + context.settings.explorer.index.unfinalizedMax
  for (;;) {
    const top = run.at(-1) as UnfinalizedBlock
    const waiting = blocksAwaitingRetry(problems, context.clock.monotonicMs()).filter((block) => block > top.number)
    const until = Math.min(head.number + 1, endMax + 1, top.number + blocksPerReadMin + 1, ...waiting)
    if (until <= top.number + 1 || options.signal?.aborted) return top.number
    let seen: BlockWithExecution[]
    try {
      seen = await readWithTransfers(context, node, { from: top.number + 1, until }, options)
    } catch (error) {
      if (!(error instanceof UnreadableBlock)) throw error
      // Stop before the block. Once it is final, the blocks after it are indexed without it.
      recordUnreadable(problems, error.block, error.reason, context.clock.monotonicMs())
      onProgress({ is: 'unreadable', block: error.block, reason: error.reason })
      continue
    }
    const events: TailEvent[] = []
    let parent = top.hash
    for (const next of seen) {
      // A reorganisation during the read; the next pass detects it.
      if (next.block.parentHash !== parent) break
      parent = next.block.hash
      events.push({ is: 'block', seen: next })
    }
    const extended = events.length > 0 ? await applyEvents(context.ingest, node.chain.id, run, events) : undefined
    if (!extended) return top.number
    run = extended
  }
}

async function requireTransfers(node: ChainNode): Promise<void> {
  const { traces, logs } = await node.capabilities()
  if (traces || logs) return
  throw new Fault('explorer.no_traces', {
    detail: `chain ${node.chain.id}: no node supports traces, so internal transfers would be missing. An index needs trace_block or debug_traceBlockByNumber`,
  })
}

const blockNumbers = ({ from, until }: Range): number[] => Array.from({ length: until - from }, (_, at) => from + at)

const countRevertedBlocks = (before: readonly UnfinalizedBlock[], events: readonly TailEvent[]): number =>
  events.reduce(
    (sum, event) => sum + (event.is === 'reorg' ? before.filter(({ number }) => number >= event.from).length : 0),
    0,
  )
