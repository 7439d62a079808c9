// Runs writes one after another in their order, for both engines. The queue is limited, so that a slow disk does not fill
// the memory.
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

  /** `name` is the file in faults. */
  constructor(name: string, waitingMax: number) {
    this.#name = name
    this.#waitingMax = waitingMax
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    this.refuseIfFull(0)
    return this.#enqueue(work)
  }

  /** Throws what `run` would throw if `more` additional writes were waiting. */
  refuseIfFull(more: number): void {
    // A write inside a write would wait for itself.
    assert(
      this.#currentWrite.getStore()?.over !== false,
      'a write was started inside another one; use the existing transaction',
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

  /** Accepts no more work and resolves when the accepted work is done. */
  async close(): Promise<void> {
    this.#closed = true
    await this.#last
  }
}

export const closedFault = (file: string): Fault =>
  new Fault('store.unavailable', { detail: `${file} is closed because the process is stopping` })

const queueFullFault = (file: string, waiting: number): Fault =>
  new Fault('store.unavailable', {
    detail: `${waiting} writes are waiting for ${file}, which is the limit; the disk is too slow or a write hangs`,
    retryAfterMs: 1000,
  })
