// A pool of readers with one queue: the next free reader takes the first waiting job. The queue is limited, and aborted
// jobs leave it.
import { closedFault, unavailable } from './write-queue.ts'

export class ReaderPool<Reader> {
  readonly #name: string
  readonly #waitingMax: number
  readonly #count: number
  readonly #free: Reader[]
  readonly #waiting = new Set<(reader: Reader) => void>()
  readonly #over = Promise.withResolvers<void>()
  #closed = false

  /** `name` is the file in faults. */
  constructor(name: string, readers: readonly Reader[], waitingMax: number) {
    this.#name = name
    this.#count = readers.length
    this.#free = [...readers]
    this.#waitingMax = waitingMax
  }

  /** If the signal aborts before the work has started, it does not start, and the reason of the signal is thrown. */
  async run<T>(work: (reader: Reader) => Promise<T>, signal?: AbortSignal): Promise<T> {
    if (this.#closed) throw closedFault(this.#name)
    signal?.throwIfAborted()
    const reader = this.#free.pop() ?? (await this.#acquire(signal))
    try {
      return await work(reader)
    } finally {
      this.#release(reader)
    }
  }

  /** Accepts no more work and resolves when the accepted work is done. */
  close(): Promise<void> {
    this.#closed = true
    this.#endIfOver()
    return this.#over.promise
  }

  #acquire(signal: AbortSignal | undefined): Promise<Reader> {
    const { size } = this.#waiting
    if (size >= this.#waitingMax)
      throw unavailable(`${size} queries are waiting for ${this.#name}, which is the limit; send fewer at once`)
    return new Promise((resolve, reject) => {
      const grant = (reader: Reader) => {
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

  #release(reader: Reader): void {
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
