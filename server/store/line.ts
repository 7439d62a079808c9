// One line before several counters: whoever is free serves the first that waits, so a long question keeps nobody waiting who could be
// served beside it. It has a limit, and a question whose asker has gone leaves it.
import { Fault } from '#core/fault.ts'
import { closedFault } from './turns.ts'

export class Line<Counter> {
  readonly #of: string
  readonly #waitingMax: number
  readonly #count: number
  readonly #free: Counter[]
  readonly #waiting = new Set<(counter: Counter) => void>()
  readonly #over = Promise.withResolvers<void>()
  #closed = false

  /** `of` names the file in the faults. */
  constructor(of: string, counters: readonly Counter[], waitingMax: number) {
    this.#of = of
    this.#count = counters.length
    this.#free = [...counters]
    this.#waitingMax = waitingMax
  }

  /** When the signal aborts before the work has begun, it never begins, and the signal's reason is thrown. */
  async take<T>(work: (counter: Counter) => Promise<T>, signal?: AbortSignal): Promise<T> {
    if (this.#closed) throw closedFault(this.#of)
    signal?.throwIfAborted()
    const counter = this.#free.pop() ?? (await this.#turn(signal))
    try {
      return await work(counter)
    } finally {
      this.#pass(counter)
    }
  }

  /** Takes no more work and resolves when what was taken is done. */
  close(): Promise<void> {
    this.#closed = true
    this.#endIfOver()
    return this.#over.promise
  }

  #turn(signal: AbortSignal | undefined): Promise<Counter> {
    if (this.#waiting.size >= this.#waitingMax) throw fullFault(this.#of, this.#waiting.size)
    return new Promise((resolve, reject) => {
      const turn = (counter: Counter) => {
        signal?.removeEventListener('abort', leave)
        resolve(counter)
      }
      const leave = () => {
        this.#waiting.delete(turn)
        reject(signal?.reason)
      }
      signal?.addEventListener('abort', leave, { once: true })
      this.#waiting.add(turn)
    })
  }

  #pass(counter: Counter): void {
    const [next] = this.#waiting
    if (next) {
      this.#waiting.delete(next)
      next(counter)
      return
    }
    this.#free.push(counter)
    this.#endIfOver()
  }

  #endIfOver(): void {
    if (this.#closed && this.#free.length === this.#count) this.#over.resolve()
  }
}

const fullFault = (file: string, waiting: number): Fault =>
  new Fault('store.unavailable', {
    detail: `${waiting} questions are waiting for ${file}, which is the limit; ask for less at once`,
    retryAfterMs: 1000,
  })
