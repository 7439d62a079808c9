// Runs expensive work of callers: a few at the same time, one per caller. Others wait in a limited queue, and beyond it
// they are refused. The queue is served in order, except that a caller whose work is running, or who rests, does not hold up
// the others.
import type { Fault } from '#core/fault.ts'
import type { Clock } from '#runtime/clock.ts'

export interface CallerQueueOptions {
  readonly runningMax: number
  readonly waitingMax: number
  /** Of them, those of one caller. Default: all. */
  readonly waitingPerCallerMax?: number
  /** After work that took at least `restFromMs`, a caller rests for as long as it took, so it has half of the time. */
  readonly rest?: { readonly clock: Pick<Clock, 'monotonicMs' | 'every'>; readonly restFromMs: number }
  /** What is thrown if the queue is full, also for one caller. */
  readonly refusal: () => Fault
}

interface Waiting {
  readonly caller: string
  readonly start: () => void
}

export class CallerQueue {
  readonly #options: CallerQueueOptions
  /** Callers whose work runs, and those who rest. */
  readonly #busy = new Set<string>()
  #running = 0
  readonly #waiting = new Set<Waiting>()

  constructor(options: CallerQueueOptions) {
    this.#options = options
  }

  /** If the signal aborts before the work has started, it does not start, and the reason of the signal is thrown. */
  async run<T>(caller: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    signal?.throwIfAborted()
    if (!this.#mayStart(caller)) await this.#wait(caller, signal)
    else this.#begin(caller)
    const { clock } = this.#options.rest ?? {}
    const startMs = clock?.monotonicMs() ?? 0
    try {
      return await work()
    } finally {
      this.#running -= 1
      this.#release(caller, (clock?.monotonicMs() ?? 0) - startMs)
      this.#startNext()
    }
  }

  #mayStart(caller: string): boolean {
    return this.#running < this.#options.runningMax && !this.#busy.has(caller)
  }

  #begin(caller: string): void {
    this.#running += 1
    this.#busy.add(caller)
  }

  /** Now, or after the rest. */
  #release(caller: string, tookMs: number): void {
    const { rest } = this.#options
    if (!rest || tookMs < rest.restFromMs) return void this.#busy.delete(caller)
    const stop = rest.clock.every(tookMs, () => {
      stop()
      this.#busy.delete(caller)
      this.#startNext()
    })
  }

  #wait(caller: string, signal: AbortSignal | undefined): Promise<void> {
    const { waitingMax, waitingPerCallerMax = waitingMax, refusal } = this.#options
    const own = [...this.#waiting].filter((waiting) => waiting.caller === caller).length
    if (this.#waiting.size >= waitingMax || own >= waitingPerCallerMax) throw refusal()
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.#waiting.delete(waiting)
        reject(signal?.reason)
      }
      const start = () => {
        signal?.removeEventListener('abort', leave)
        resolve()
      }
      const waiting = { caller, start }
      signal?.addEventListener('abort', leave, { once: true })
      this.#waiting.add(waiting)
    })
  }

  #startNext(): void {
    for (const waiting of this.#waiting) {
      if (!this.#mayStart(waiting.caller)) continue
      this.#waiting.delete(waiting)
      // Before the work starts, so that no other call takes its place.
      this.#begin(waiting.caller)
      waiting.start()
    }
  }
}
