// Lets pieces of work go one at a time, in the order they came. Both engines allow a single writer, so its queue is
// here once, with a limit: work that can never catch up is refused instead of filling the memory.

import { strict as assert } from 'node:assert'
import { AsyncLocalStorage } from 'node:async_hooks'
import { Fault } from '#core/fault.ts'

export class WriteQueue {
  readonly #name: string
  readonly #waitingMax: number
  readonly #currentWrite = new AsyncLocalStorage<{ over: boolean }>()
  #last: Promise<unknown> = Promise.resolve()
  #waiting = 0
  #closed = false

  /** `of` names the file in the faults. */
  constructor(name: string, waitingMax: number) {
    this.#name = name
    this.#waitingMax = waitingMax
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    this.refuseIfFull(0)
    return this.#enqueue(work)
  }

  /** Throws what `take` would throw, with so many more waiting. */
  refuseIfFull(more: number): void {
    // Waiting for a turn from within a turn would wait for itself.
    assert(
      this.#currentWrite.getStore()?.over !== false,
      'a write began inside another; use the transaction that is at hand',
    )
    if (this.#closed) throw closedFault(this.#name)
    if (this.#waiting + more >= this.#waitingMax) throw queueFullFault(this.#name, this.#waiting + more)
  }

  #enqueue<T>(work: () => Promise<T>): Promise<T> {
    this.#waiting += 1
    const turn = this.#last.then(() => this.#run(work))
    this.#last = turn.catch(() => {})
    return turn
  }

  async #run<T>(work: () => Promise<T>): Promise<T> {
    const current = { over: false }
    try {
      return await this.#currentWrite.run(current, work)
    } finally {
      current.over = true
      this.#waiting -= 1
    }
  }

  /** Takes no more work and resolves when what was taken is done. */
  async close(): Promise<void> {
    this.#closed = true
    await this.#last
  }
}

export const closedFault = (file: string): Fault =>
  new Fault('store.unavailable', { detail: `${file} has been closed; the process is stopping` })

const queueFullFault = (file: string, waiting: number): Fault =>
  new Fault('store.unavailable', {
    detail: `${waiting} writes are waiting for ${file}, which is the limit; the disk is too slow or a write hangs`,
    retryAfterMs: 1000,
  })
