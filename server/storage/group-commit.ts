// Collects small concurrent writes, so that they share one commit
// (decisions/share-one-commit-between-concurrent-quotes.md).
//
// 1. Writes of one turn of the event loop are committed together, up to a limit. There is no timer.
// 2. A batch is one short entry of the write queue, with its order and limits.
// 3. Every member is resolved or rejected exactly once.
import { nextEventLoopTurn } from '#runtime/clock.ts'
import type { StateWriter } from './state.ts'
import type { WriteQueue } from './write-queue.ts'

const batchMax = 256

/** A write that may share its commit. */
export interface QueuedWrite {
  readonly work: (tx: StateWriter) => Promise<unknown>
  readonly resolve: (result: never) => void
  readonly reject: (error: unknown) => void
}

type GroupCommit = <T>(work: (tx: StateWriter) => Promise<T>) => Promise<T>

/** `commit` settles the members. If it throws, the remaining members are rejected with the error. */
export function createGroupCommit(
  writeQueue: WriteQueue,
  commit: (members: readonly QueuedWrite[]) => Promise<void>,
): GroupCommit {
  const waiting: QueuedWrite[] = []

  async function commitWaiting(): Promise<void> {
    await nextEventLoopTurn()
    const batch = waiting.splice(0)
    for (let at = 0; at < batch.length; at += batchMax) {
      const members = batch.slice(at, at + batchMax)
      await commit(members).catch((error: unknown) => rejectAll(members, error))
    }
  }

  return async <T>(work: (tx: StateWriter) => Promise<T>) => {
    writeQueue.refuseIfFull(waiting.length)
    return new Promise<T>((resolve, reject) => {
      waiting.push({ work, resolve: resolve as QueuedWrite['resolve'], reject })
      if (waiting.length > 1) return
      // If the queue refuses the batch, its members would never be settled.
      writeQueue.run(commitWaiting, 'short').catch((error: unknown) => rejectAll(waiting.splice(0), error))
    })
  }
}

function rejectAll(members: readonly QueuedWrite[], error: unknown): void {
  for (const { reject } of members) reject(error)
}
