// Which blocks of a chain are indexed and how far the chain goes. Decides what a response about its past may be based
// on (behaviour/explorer.md#no-data-found).
import type { Awaitable } from '#core/awaitable.ts'
import { describeCoverage, holes, type Range } from '#core/ranges.ts'
import type { Confidence } from '#http/handler.ts'
import type { Header } from '#sources/evm/types.ts'
import { coverageOf } from '#storage/coverage.ts'
import type { State, StateWriter } from '#storage/state.ts'
import type { ExplorerContext } from '../context.ts'
import { describeStale } from '../tip.ts'

/** The coverage stream of a chain's blocks. */
export const blocksStream = (chain: string): string => `explorer/blocks/${chain}`

/** The chain in the coverage report. */
export const chainStream = (chain: string): string => `chain ${chain}`

export interface ChainCoverage {
  readonly chain: string
  /** From the chain's first block to its newest final one. Empty before a node was asked. */
  readonly blocks: Range
  readonly covered: readonly Range[]
  /** When a node last reported the end of the blocks as its final head while all blocks were indexed; 0: never. */
  readonly confirmedMs: number
  /** The newest block at that time. `timeUnix`: 0 if it is not checked. */
  readonly head: Pick<Header, 'number' | 'timeUnix'>
  /** The end of the indexed blocks without a gap, from the first block on. */
  readonly contiguousUntil: number
  /** What responses report, with and without a confirmed head. Computed once, because every request needs it. */
  readonly confirmed: Confidence
  readonly unconfirmed: Confidence
}

/** Stores the end of the chain, which never moves back. Call it in the transaction of the indexed rows. */
export async function putHead(tx: StateWriter, chain: string, finalUntil: number): Promise<void> {
  await tx.run(
    `insert into chain_heads (chain, final_until) values (?, ?)
     on conflict (chain) do update set final_until = excluded.final_until
     where excluded.final_until > chain_heads.final_until`,
    chain,
    finalUntil,
  )
}

/** A confirmation is valid for this time, or for this many polls if that is longer. */
const confirmedMaxMs = 300_000
const confirmedMaxPolls = 5
/** Each confirmation is a write, so it is renewed only this often. */
const confirmEveryMs = 30_000
/** For chains that never grow, such as those of the demo: their heads need no node. */
export const confirmedForever = Number.MAX_SAFE_INTEGER

/**
 * Records that a node reported block `finalUntil - 1` as its newest final one, and that every block up to it is
 * indexed. `newest`: the newest block of the node.
 */
export async function confirmHead(
  state: State,
  chain: string,
  finalUntil: number,
  atMs: number,
  newest: ChainCoverage['head'] = { number: 0, timeUnix: 0 },
): Promise<void> {
  const head = await state.get<HeadRow>(selectHead, chain)
  if (head?.final_until !== finalUntil || Math.abs(atMs - head.confirmed_ms) < confirmEveryMs) return
  const sql =
    'update chain_heads set confirmed_ms = ?, head_block = ?, head_unix = ? where chain = ? and final_until = ?'
  await state.write((tx) => tx.run(sql, atMs, newest.number, newest.timeUnix, chain, finalUntil))
}

interface HeadRow {
  readonly final_until: number
  readonly confirmed_ms: number
  readonly head_block: number
  readonly head_unix: number
}
const selectHead = 'select final_until, confirmed_ms, head_block, head_unix from chain_heads where chain = ?'

export const confirmationMaxMs = ({ explorer }: ExplorerContext['settings']): number =>
  Math.max(confirmedMaxMs, confirmedMaxPolls * explorer.index.everyMs)

/**
 * Without a recent confirmation, an address that is not in the index may have been funded in a newer block. A time in the
 * future is not recent: the clock was wrong, or is.
 */
export const isHeadConfirmed = (
  context: Pick<ExplorerContext, 'clock' | 'settings'>,
  { confirmedMs }: ChainCoverage,
): boolean =>
  confirmedMs === confirmedForever || Math.abs(context.clock.now() - confirmedMs) <= confirmationMaxMs(context.settings)

/** Why the index supports no final "No data found"; undefined: its head is recent, or its age is not checked. */
export function findStaleHead(
  { clock, settings }: Pick<ExplorerContext, 'clock' | 'settings'>,
  { chain, head }: ChainCoverage,
): string | undefined {
  const options = settings.explorer.chains.find(({ id }) => id === chain)
  return options && head.timeUnix > 0 ? describeStale(options, head, clock.now()) : undefined
}

/** What "No data found" of the index is based on. */
export const toEmptyConfidence = (
  context: Pick<ExplorerContext, 'clock' | 'settings'>,
  coverage: ChainCoverage,
): Confidence =>
  findStaleHead(context, coverage) === undefined ? coverage.confirmed : { ...coverage.confirmed, finality: 'head' }

/** Cached, because the two reads would double the cost of a request. */
export const getChainCoverage = (
  context: Pick<ExplorerContext, 'ingest' | 'settings' | 'explorer'>,
  chain: string,
): Awaitable<ChainCoverage> => context.explorer.coverage(context.ingest, chain, () => readChainCoverage(context, chain))

async function readChainCoverage(
  { ingest, settings }: Pick<ExplorerContext, 'ingest' | 'settings'>,
  chain: string,
): Promise<ChainCoverage> {
  const from = settings.explorer.chains.find(({ id }) => id === chain)?.firstBlock ?? 0
  const head = await ingest.get<HeadRow>(selectHead, chain)
  const covered = await coverageOf(ingest, blocksStream(chain))
  const until = Math.max(from, head?.final_until ?? from)
  const blocks = { from, until }
  const contiguousUntil = holes(covered, blocks)[0]?.from ?? until
  // An index whose head is not confirmed is not complete, so it reports its ranges.
  const describe = (isConfirmed: boolean): Confidence => ({
    ...(contiguousUntil > from && { asOf: contiguousUntil - 1 }),
    finality: 'finalized',
    coverage: until > from ? describeCoverage(covered, { from, until: isConfirmed ? until : until + 1 }) : 'none',
  })
  return {
    chain,
    blocks,
    covered,
    confirmedMs: head?.confirmed_ms ?? 0,
    head: { number: head?.head_block ?? 0, timeUnix: head?.head_unix ?? 0 },
    contiguousUntil,
    confirmed: describe(true),
    unconfirmed: describe(false),
  }
}

/** The first range before `until` that is not indexed. */
export const firstGap = ({ covered, blocks, contiguousUntil }: ChainCoverage, until: number): Range | undefined =>
  until <= contiguousUntil ? undefined : holes(covered, { from: blocks.from, until })[0]

export const toConfidence = ({ confirmed, unconfirmed }: ChainCoverage, isConfirmed: boolean): Confidence =>
  isConfirmed ? confirmed : unconfirmed
