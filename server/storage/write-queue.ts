// Runs writes one after another, for both engines. The queue is limited, so that a slow disk does not fill the memory.
//
// 1. Writes start in the order of their arrival, except that short ones go before long ones. A bulk write consists of
//    many transactions, so a short write waits for one of them only.
// 2. After a short write, the first waiting long write has its turn. So a steady flow of short writes does not keep long
//    ones waiting for ever.
import { strict as assert } from 'node:assert'
import { AsyncLocalStorage } from 'node:async_hooks'
import { Fault } from '#core/fault.ts'

export type WriteLength = 'short' | 'long'

export class WriteQueue {
  readonly #name: string
  readonly #waitingMax: number
  readonly #currentWrite = new AsyncLocalStorage<{ over: boolean }>()
  /** Each starts one waiting write. */
  readonly #starts: Readonly<Record<WriteLength, (() => void)[]>> = { short: [], long: [] }
  /** The length of the running write, if any. */
  #running: WriteLength | undefined
  /** Includes the running write. */
  #waiting = 0
  #closed = false
  readonly #onEmpty: (() => void)[] = []

  /** `name` is the file in faults. */
  constructor(name: string, waitingMax: number) {
    this.#name = name
    this.#waitingMax = waitingMax
  }

  async run<T>(work: () => Promise<T>, length: WriteLength = 'long'): Promise<T> {
    this.refuseIfFull(0)
    this.#waiting += 1
    const current = { over: false }
    await this.#waitForTurn(length)
    try {
      return await this.#currentWrite.run(current, work)
    } finally {
      current.over = true
      this.#waiting -= 1
      this.#startNext(length)
    }
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

  async #waitForTurn(length: WriteLength): Promise<void> {
    if (this.#running) await new Promise<void>((resolve) => this.#starts[length].push(resolve))
    this.#running = length
  }

  #startNext(ended: WriteLength): void {
    const { short, long } = this.#starts
    const next = ended === 'short' ? [long, short] : [short, long]
    const start = next[0]?.shift() ?? next[1]?.shift()
    if (start) {
      start()
      return
    }
    this.#running = undefined
    for (const resolve of this.#onEmpty.splice(0)) resolve()
  }

  /** Accepts no more work and resolves when the accepted work is done. */
  async close(): Promise<void> {
    this.#closed = true
    if (this.#running) await new Promise<void>((resolve) => this.#onEmpty.push(resolve))
  }
}

export const closedFault = (file: string): Fault =>
  new Fault('store.unavailable', { detail: `${file} is closed because the process is stopping` })

/** For failures that may be over after a second. */
export const unavailable = (detail: string, cause?: unknown): Fault =>
  new Fault('store.unavailable', { detail, cause, retryAfterMs: 1000 })

const queueFullFault = (file: string, waiting: number): Fault =>
  unavailable(`${waiting} writes are waiting for ${file}, which is the limit; the disk is too slow or a write hangs`)

/** Concurrent reads of results that may not fit in memory. */
export const iterationsMax = 16

export const tooManyIterations = (name: string): Fault =>
  unavailable(`${iterationsMax} long reads of ${name} are running, which is the limit`)
