// Why the index of a chain is not complete: a contradiction that stopped it, or blocks that no node can trace. Kept in
// memory, for /readyz and the doctor.
import type { ExplorerContext } from '#explorer/context.ts'

export interface UnreadableBlockEntry {
  readonly block: number
  /** Node and error text. */
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
  unreadable: new Map<number, UnreadableBlockEntry>(),
})

export const getIndexProblems = ({ explorer }: Pick<ExplorerContext, 'explorer'>, chain: string): IndexProblems =>
  explorer.indexProblems.getOrInsertComputed(chain, noProblems)

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
