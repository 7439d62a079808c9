// What keeps an index from being complete, as far as this process knows: a contradiction that has stopped it, and blocks
// that no node can trace. For /readyz and the doctor.
import type { State } from '#store/state.ts'

export interface UnreadableBlockNote {
  readonly block: number
  /** Node and error text. */
  readonly reason: string
  /** On the monotonic clock. */
  readonly againMs: number
  readonly attempts: number
}

export interface IndexTrouble {
  /** Why the index has stopped; undefined: it has not. */
  stopped: string | undefined
  readonly unreadable: Map<number, UnreadableBlockNote>
}

const troubles = new WeakMap<State, Map<string, IndexTrouble>>()

export function troubleOf(state: State, chain: string): IndexTrouble {
  const chains = troubles.get(state) ?? new Map<string, IndexTrouble>()
  troubles.set(state, chains)
  const known = chains.get(chain) ?? { stopped: undefined, unreadable: new Map() }
  chains.set(chain, known)
  return known
}

const firstRetryMs = 60_000
const retryMaxMs = 3_600_000

/** Notes a block that could not be read, and when it is tried again: with the next pass first, since failures pass, then later each time. */
export function noteUnreadable(trouble: IndexTrouble, block: number, reason: string, nowMs: number): void {
  const attempts = (trouble.unreadable.get(block)?.attempts ?? 0) + 1
  const waitMs = attempts === 1 ? 0 : Math.min(firstRetryMs * 2 ** (attempts - 2), retryMaxMs)
  trouble.unreadable.set(block, { block, reason, attempts, againMs: nowMs + waitMs })
}

/** Blocks that are not tried again yet. */
export const waitingBlocks = ({ unreadable }: IndexTrouble, nowMs: number): number[] =>
  [...unreadable.values()].filter(({ againMs }) => againMs > nowMs).map(({ block }) => block)
