// Why the index of a chain is not complete: a contradiction that stopped it, passes that fail one after the other, or
// blocks that cannot be read. Kept in memory, for /readyz, the coverage and the doctor.
import { counted } from '#core/counted.ts'
import type { Range } from '#core/ranges.ts'
import type { ExplorerContext } from '#explorer/context.ts'

export interface UnreadableBlockEntry {
  readonly block: number
  /** Transaction, node and error text. */
  readonly reason: string
  /** On the monotonic clock. */
  readonly retryAtMs: number
  readonly attempts: number
}

export type IndexProblems = ReturnType<typeof noProblems>

const noProblems = () => ({
  /** Why the index has stopped; undefined: it is running. */
  stopped: undefined as string | undefined,
  /** Whether it has stopped because nodes disagree. */
  isDisagreement: false,
  /** Nodes that were not compared with the others, and why; undefined: nothing was compared yet. */
  notCompared: undefined as readonly string[] | undefined,
  /** The chain is young: it has no final block yet. No pass can succeed, and nothing is wrong. */
  isWaiting: false,
  /** Passes in a row that failed since a block was stored, with the last error. */
  failed: undefined as
    | { readonly passes: number; readonly reason: string; readonly range: Range | undefined }
    | undefined,
  /** The final blocks that this pass failed to read. */
  failedRange: undefined as Range | undefined,
  unreadable: new Map<number, UnreadableBlockEntry>(),
  /** Blocks whose logs contradicted them, since the start of this process: how many, and the last one. */
  contradictedLogs: undefined as
    | { readonly blocks: number; readonly block: number; readonly reason: string }
    | undefined,
  /** Blocks after the Amsterdam fork whose header could not be verified, since the start: how many, and the last one. */
  unverifiedHeaders: undefined as { readonly blocks: number; readonly block: number } | undefined,
})

export const getIndexProblems = ({ explorer }: Pick<ExplorerContext, 'explorer'>, chain: string): IndexProblems =>
  explorer.indexProblems.getOrInsertComputed(chain, noProblems)

/** A node may be restarted or behind. With the default settings, this takes about two minutes. */
const failedPassesMax = 5

export function recordFailedPass(problems: IndexProblems, reason: string): void {
  problems.failed = { passes: (problems.failed?.passes ?? 0) + 1, reason, range: problems.failedRange }
}

/** Undefined as long as the index is healthy. */
export function describeFailedPasses({ failed }: IndexProblems): string | undefined {
  if (!failed || failed.passes < failedPassesMax) return undefined
  const location = failed.range ? `, at blocks ${failed.range.from} to ${failed.range.until - 1}` : ''
  return `${failed.passes} passes in a row failed without storing a block${location}: ${failed.reason}`
}

export const describeUnreadable = ({ block, attempts, reason }: UnreadableBlockEntry): string =>
  `block ${block}, tried ${counted(attempts, 'time')}: ${reason}`

export function recordContradictedLogs(problems: IndexProblems, block: number, reason: string): void {
  problems.contradictedLogs = { blocks: (problems.contradictedLogs?.blocks ?? 0) + 1, block, reason }
}

/** Undefined if logs contradicted no block. */
export function describeContradictedLogs({ contradictedLogs }: IndexProblems): string | undefined {
  if (!contradictedLogs) return undefined
  const { blocks, block, reason } = contradictedLogs
  return `the logs of ${counted(blocks, 'block')} are not used, because they are contradictory; last block ${block}: ${reason}`
}

export function recordUnverifiedHeader(problems: IndexProblems, block: number): void {
  problems.unverifiedHeaders = { blocks: (problems.unverifiedHeaders?.blocks ?? 0) + 1, block }
}

/** Undefined if every header was verified. */
export function describeUnverifiedHeaders({ unverifiedHeaders }: IndexProblems): string | undefined {
  if (!unverifiedHeaders) return undefined
  const { blocks, block } = unverifiedHeaders
  return `header hash not verified of ${counted(blocks, 'block')}, because the header has other fields than this version knows; last block ${block}`
}

const firstRetryMs = 60_000
const retryMaxMs = 3_600_000

/** The first retry is in the next pass, because most failures are temporary. After that the wait doubles each time. */
export function recordUnreadable(problems: IndexProblems, block: number, reason: string, nowMs: number): void {
  const attempts = (problems.unreadable.get(block)?.attempts ?? 0) + 1
  const waitMs = attempts === 1 ? 0 : Math.min(firstRetryMs * 2 ** (attempts - 2), retryMaxMs)
  problems.unreadable.set(block, { block, reason, attempts, retryAtMs: nowMs + waitMs })
}

/** Blocks whose retry is not due yet. */
export const blocksAwaitingRetry = ({ unreadable }: IndexProblems, nowMs: number): number[] =>
  [...unreadable.values()].filter(({ retryAtMs }) => retryAtMs > nowMs).map(({ block }) => block)
