// What keeps an index from being complete, as far as this process knows: a contradiction that has stopped it, and blocks
// that no node can trace. For /readyz and the doctor.
import type { ExplorerContext } from '#explorer/context.ts'

export interface UnreadableBlockEntry {
  readonly block: number
  /** Node and error text. */
  readonly reason: string
  /** On the monotonic clock. */
  readonly againMs: number
  readonly attempts: number
}

export interface IndexProblems {
  /** Why the index has stopped; undefined: it has not. */
  stopped: string | undefined
  readonly unreadable: Map<number, UnreadableBlockEntry>
}

export const getIndexProblems = ({ explorer }: Pick<ExplorerContext, 'explorer'>, chain: string): IndexProblems =>
  explorer.indexTroubles.getOrInsertComputed(chain, () => ({ stopped: undefined, unreadable: new Map() }))

const firstRetryMs = 60_000
const retryMaxMs = 3_600_000

/** Notes a block that could not be read, and when it is tried again: with the next pass first, since failures pass, then later each time. */
export function recordUnreadable(problems: IndexProblems, block: number, reason: string, nowMs: number): void {
  const attempts = (problems.unreadable.get(block)?.attempts ?? 0) + 1
  const waitMs = attempts === 1 ? 0 : Math.min(firstRetryMs * 2 ** (attempts - 2), retryMaxMs)
  problems.unreadable.set(block, { block, reason, attempts, againMs: nowMs + waitMs })
}

/** Blocks that are not tried again yet. */
export const blocksAwaitingRetry = ({ unreadable }: IndexProblems, nowMs: number): number[] =>
  [...unreadable.values()].filter(({ againMs }) => againMs > nowMs).map(({ block }) => block)
