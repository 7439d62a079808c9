// Reads a chain from its first block to its head (decision 0018): final blocks in ranges, several at a time and in any
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
import { headerCall, toHeader } from '#io/evm/blocks.ts'
import type { AskOptions } from '#io/evm/rpc.ts'
import type { Header, SeenBlock } from '#io/evm/shapes.ts'
import { UnreadableBlock } from '#io/evm/trace-recovery.ts'
import { coverageOf } from '#store/coverage.ts'
import type { ExplorerContext } from './context.ts'
import { type Funding, isBefore, putFundings } from './fundings.ts'
import { type Kept, keptBlocks } from './index-near.ts'
import { checkSeams, coverJoined } from './index-seams.ts'
import { apply, changesOf, hookOn, type TailEvent } from './index-tail.ts'
import { noteUnreadable, troubleOf, waitingBlocks } from './index-trouble.ts'
import type { ChainNode, Tip } from './node.ts'
import { blocksOf, confirmHead, putHead } from './standing.ts'
import { fundingsOf, transfersOf } from './transfers.ts'

export type Progress =
  /** How many blocks are still to be read, and how far the chain goes. */
  | { readonly is: 'plan'; readonly blocks: number; readonly finalUntil: number }
  | { readonly is: 'range'; readonly range: Range; readonly rows: number }
  /** A block that no node can trace; it is tried again later. */
  | { readonly is: 'unreadable'; readonly block: number; readonly reason: string }
  /** The run of blocks that are not final: where it ends, and how many blocks were taken back to get there. */
  | { readonly is: 'near'; readonly head: number; readonly takenBack: number }

export type Tell = (progress: Progress) => void

/** Blocks held in memory at a time, by each reader: their traces are large. */
const blocksPerRead = 8
const runBlocksPerRead = 8
/** More blocks than this that cannot be read in one pass are no exception: the pass ends with the error. */
const unreadableMax = 16

/** Brings the index up to the chain's present head. */
export async function catchUp(
  context: ExplorerContext,
  node: ChainNode,
  tell: Tell,
  signal?: AbortSignal,
): Promise<void> {
  const options = signal ? { signal } : {}
  await needTraces(node)
  const { askedMs, tip, final, run: settled, takenBack } = await settleRun(context, node, options)
  if (!settled) return
  const { number, hash } = final
  await fill(context, node, { from: node.chain.firstBlock, until: number + 1, lastHash: hash }, tell, signal)
  const top = settled.at(-1)
  const run = top && top.number >= number ? settled : await hookOn(context.state, node.chain.id, final)
  const head = await extend(context, node, run, tip, options, tell)
  await confirmHead(context.state, node.chain.id, number + 1, askedMs)
  tell({ is: 'near', head, takenBack })
}

/** Reads what is missing of the span, as far as it is final, from a node that does not contradict what was read before. */
export async function repair(
  context: ExplorerContext,
  node: ChainNode,
  span: Range,
  tell: Tell,
  signal?: AbortSignal,
): Promise<void> {
  const { askedMs, final } = await settleRun(context, node, signal ? { signal } : {})
  const end = final.number + 1
  const from = Math.max(span.from, node.chain.firstBlock)
  const until = Math.max(from, Math.min(span.until, end))
  await fill(context, node, { from, until, ...(until === end && { lastHash: final.hash }) }, tell, signal)
  const isWhole = from === node.chain.firstBlock && until === end
  if (isWhole && !signal?.aborted) await confirmHead(context.state, node.chain.id, end, askedMs)
}

interface Settled {
  /** When the node was asked for its head; reading up to there may take days. */
  readonly askedMs: number
  readonly tip: Tip
  readonly final: Header
  /** undefined: another process has moved it meanwhile. */
  readonly run: readonly Kept[] | undefined
  readonly takenBack: number
}

/** Brings the run of newer blocks up to what the node says of them now. */
async function settleRun(context: ExplorerContext, node: ChainNode, options: AskOptions): Promise<Settled> {
  const askedMs = context.clock.now()
  const tip = await node.tip(options)
  const { final } = tip
  if (!final)
    throw new Fault('explorer.node_unavailable', {
      detail: `chain ${node.chain.id}: the node names no final block; set finalityBlocks`,
    })
  await checkSeams(context.state, node, tip.head.number, options)
  const kept = await keptBlocks(context.state, node.chain.id)
  const events = await changesOf(node, kept, tip, options)
  const run = events.length > 0 ? await apply(context.state, node.chain.id, kept, events) : kept
  return { askedMs, tip, final, run, takenBack: takenBackBy(kept, events) }
}

/** Final blocks; `lastHash` is that of the last one, where it is known. */
export interface FinalSpan extends Range {
  readonly lastHash?: string
}

/** Reads the final blocks of the span that are not covered yet. */
export async function fill(
  context: ExplorerContext,
  node: ChainNode,
  span: FinalSpan,
  tell: Tell,
  signal?: AbortSignal,
): Promise<void> {
  const { rangeBlocks, parallel } = context.settings.explorer.index
  await needTraces(node)
  const trouble = troubleOf(context, node.chain.id)
  const covered = await coverageOf(context.state, blocksOf(node.chain.id))
  for (const { block } of trouble.unreadable.values())
    if (covered.some(({ from, until }) => from <= block && block < until)) trouble.unreadable.delete(block)
  const waiting = waitingBlocks(trouble, context.clock.monotonicMs())
  const missing = withoutBlocks(holes(covered, span), waiting)
  const blocks = missing.reduce((sum, { from, until }) => sum + until - from, 0)
  tell({ is: 'plan', blocks, finalUntil: span.until })
  const ranges = split(missing, rangeBlocks)
  const failed = new AbortController()
  const stop = signal ? AbortSignal.any([signal, failed.signal]) : failed.signal
  let unreadable = 0
  const read = async (range: Range): Promise<void> => {
    try {
      tell({ is: 'range', range, rows: await readRange(context, node, range, span, stop) })
    } catch (error) {
      if (!(error instanceof UnreadableBlock) || stop.aborted || ++unreadable > unreadableMax) throw error
      noteUnreadable(trouble, error.block, error.reason, context.clock.monotonicMs())
      tell({ is: 'unreadable', block: error.block, reason: error.reason })
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
function* split(missing: readonly Range[], size: number): Generator<Range, undefined> {
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
  span: FinalSpan,
  signal: AbortSignal,
): Promise<number> {
  const chain = node.chain.id
  const first = new Map<string, Funding>()
  let parentHash = ''
  let last: Header | undefined
  for (let from = range.from; from < range.until; from += blocksPerRead) {
    const numbers = numbersOf({ from, until: Math.min(range.until, from + blocksPerRead) })
    for (const seen of await node.read(numbers, { signal })) {
      if (last && seen.block.parentHash !== last.hash) throw apart(chain, seen.block.number)
      if (!last) parentHash = seen.block.parentHash
      last = seen.block
      for (const row of fundingsOf(chain, transfersOf(seen))) {
        const known = first.get(row.address)
        if (!known || isBefore(row, known)) first.set(row.address, row)
      }
    }
  }
  const lastHash = range.until < span.until ? await parentHashOf(node, range.until, signal) : span.lastHash
  if (!last || (lastHash !== undefined && last.hash !== lastHash)) throw apart(chain, range.until)
  const read = { ...range, parentHash, lastHash: last.hash }
  return context.state.write(async (tx) => {
    const rows = await putFundings(tx, first.values())
    await coverJoined(tx, chain, read)
    await putHead(tx, chain, span.until)
    return rows
  })
}

async function parentHashOf(node: ChainNode, number: number, signal: AbortSignal): Promise<string> {
  const [header] = await node.rpc.results([headerCall(number)], { signal })
  return toHeader(header).parentHash
}

const apart = (chain: string, block: number): Fault =>
  new Fault('explorer.node_unavailable', {
    detail: `chain ${chain}: block ${block} and the one before it, both final, do not belong to the same chain; check whether one of the nodes is on a fork`,
  })

/** Adds the blocks above the run, as far as each is the child of the one before. Tells where it ends. */
async function extend(
  context: ExplorerContext,
  node: ChainNode,
  from: readonly Kept[],
  { head }: Tip,
  options: AskOptions,
  tell: Tell,
): Promise<number> {
  let run = from
  const trouble = troubleOf(context, node.chain.id)
  const endMax = (run[0]?.number ?? 0) + context.settings.explorer.index.nearMax
  for (;;) {
    const top = run.at(-1) as Kept
    const waiting = waitingBlocks(trouble, context.clock.monotonicMs()).filter((block) => block > top.number)
    const until = Math.min(head.number + 1, endMax + 1, top.number + runBlocksPerRead + 1, ...waiting)
    if (until <= top.number + 1 || options.signal?.aborted) return top.number
    let seen: SeenBlock[]
    try {
      seen = await node.read(numbersOf({ from: top.number + 1, until }), options)
    } catch (error) {
      if (!(error instanceof UnreadableBlock)) throw error
      // The run ends before it for now. Once it is final, the blocks behind it are read without it.
      noteUnreadable(trouble, error.block, error.reason, context.clock.monotonicMs())
      tell({ is: 'unreadable', block: error.block, reason: error.reason })
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
    const moved = events.length > 0 ? await apply(context.state, node.chain.id, run, events) : undefined
    if (!moved) return top.number
    run = moved
  }
}

async function needTraces(node: ChainNode): Promise<void> {
  const { traces } = await node.capabilities()
  if (traces) return
  throw new Fault('explorer.no_traces', {
    detail: `chain ${node.chain.id}: no node can trace, so internal transfers would not be seen; an index needs trace_block or callTracer`,
  })
}

const numbersOf = ({ from, until }: Range): number[] => Array.from({ length: until - from }, (_, at) => from + at)

const takenBackBy = (before: readonly Kept[], events: readonly TailEvent[]): number =>
  events.reduce(
    (sum, event) => sum + (event.is === 'reorg' ? before.filter(({ number }) => number >= event.from).length : 0),
    0,
  )
