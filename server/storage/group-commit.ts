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

export class GroupCommit {
  readonly #writeQueue: WriteQueue
  readonly #commit: (members: readonly QueuedWrite[]) => Promise<void>
  #waiting: QueuedWrite[] = []

  /** `commit` settles the members. If it throws, the remaining members are rejected with the error. */
  constructor(writeQueue: WriteQueue, commit: (members: readonly QueuedWrite[]) => Promise<void>) {
    this.#writeQueue = writeQueue
    this.#commit = commit
  }

  async add<T>(work: (tx: StateWriter) => Promise<T>): Promise<T> {
    this.#writeQueue.refuseIfFull(this.#waiting.length)
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({ work, resolve: resolve as QueuedWrite['resolve'], reject })
      if (this.#waiting.length === 1) this.#begin()
    })
  }

  #begin(): void {
    const commit = this.#writeQueue.run(async () => {
      await nextEventLoopTurn()
      const batch = this.#waiting.splice(0)
      for (let at = 0; at < batch.length; at += batchMax) {
        await this.#commitBatch(batch.slice(at, at + batchMax))
      }
    }, 'short')
    // The queue refused the batch, so its members would never be settled.
    commit.catch((error: unknown) => {
      for (const { reject } of this.#waiting.splice(0)) reject(error)
    })
  }

  async #commitBatch(members: readonly QueuedWrite[]): Promise<void> {
    try {
      await this.#commit(members)
    } catch (error) {
      for (const { reject } of members) reject(error)
    }
  }
}
