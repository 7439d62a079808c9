// Gathers small writes that arrive at the same time, so that one commit, and one wait for the disk, serves all of them
// (decisions/share-one-commit-between-concurrent-quotes.md). Which engine commits them, and how, is the engine's business.
//
// 1. Whoever comes during one turn of the event loop goes together, up to a limit; nobody waits for a timer.
// 2. A gathering takes one turn among the writes: order and limits of the queue hold for it as for any other.
// 3. Every member is answered exactly once.
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

  /** `commit` answers the members; what it throws is the answer of those it has not answered. */
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
    const turn = this.#writeQueue.run(async () => {
      await nextEventLoopTurn()
      const batch = this.#waiting.splice(0)
      for (let at = 0; at < batch.length; at += batchMax) {
        await this.#commitBatch(batch.slice(at, at + batchMax))
      }
    })
    // The queue itself refused: nobody else will come for those who wait.
    turn.catch((error: unknown) => {
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
