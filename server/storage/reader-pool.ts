// One line before several counters: whoever is free serves the first that waits, so a long question keeps nobody waiting who could be
// served beside it. It has a limit, and a question whose asker has gone leaves it.
import { Fault } from '#core/fault.ts'
import { closedFault } from './write-queue.ts'

export class ReaderPool<Counter> {
  readonly #name: string
  readonly #waitingMax: number
  readonly #count: number
  readonly #free: Counter[]
  readonly #waiting = new Set<(counter: Counter) => void>()
  readonly #over = Promise.withResolvers<void>()
  #closed = false

  /** `of` names the file in the faults. */
  constructor(name: string, readers: readonly Counter[], waitingMax: number) {
    this.#name = name
    this.#count = readers.length
    this.#free = [...readers]
    this.#waitingMax = waitingMax
  }

  /** When the signal aborts before the work has begun, it never begins, and the signal's reason is thrown. */
  async run<T>(work: (reader: Counter) => Promise<T>, signal?: AbortSignal): Promise<T> {
    if (this.#closed) throw closedFault(this.#name)
    signal?.throwIfAborted()
    const reader = this.#free.pop() ?? (await this.#acquire(signal))
    try {
      return await work(reader)
    } finally {
      this.#release(reader)
    }
  }

  /** Takes no more work and resolves when what was taken is done. */
  close(): Promise<void> {
    this.#closed = true
    this.#endIfOver()
    return this.#over.promise
  }

  #acquire(signal: AbortSignal | undefined): Promise<Counter> {
    if (this.#waiting.size >= this.#waitingMax) throw poolFullFault(this.#name, this.#waiting.size)
    return new Promise((resolve, reject) => {
      const grant = (reader: Counter) => {
        signal?.removeEventListener('abort', leave)
        resolve(reader)
      }
      const leave = () => {
        this.#waiting.delete(grant)
        reject(signal?.reason)
      }
      signal?.addEventListener('abort', leave, { once: true })
      this.#waiting.add(grant)
    })
  }

  #release(reader: Counter): void {
    const [next] = this.#waiting
    if (next) {
      this.#waiting.delete(next)
      next(reader)
      return
    }
    this.#free.push(reader)
    this.#endIfOver()
  }

  #endIfOver(): void {
    if (this.#closed && this.#free.length === this.#count) this.#over.resolve()
  }
}

const poolFullFault = (file: string, waiting: number): Fault =>
  new Fault('store.unavailable', {
    detail: `${waiting} questions are waiting for ${file}, which is the limit; ask for less at once`,
    retryAfterMs: 1000,
  })
