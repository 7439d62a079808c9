// Time limits of requests in flight. One check per second covers all of them, because a timer per request would cost more
// than most requests.
import { Fault } from '#core/fault.ts'
import type { Clock } from '#runtime/clock.ts'

const sweepMs = 1000

/** The caller has disconnected. This is not a failure of the server. */
export class CallerGone extends Fault {
  constructor() {
    super('server.timeout', { detail: 'the caller has disconnected' })
  }
}

/** Calls `leave` when the caller has disconnected or has got the response. */
export type OnCallerGone = (leave: () => void) => void

export interface Deadlines {
  /** The result of the work, or a fault if it takes too long. */
  within<T>(work: (deadline: Deadline) => Promise<T>, onCallerGone?: OnCallerGone): Promise<T>
  readonly inFlight: number
  close(): void
}

/** The time limit of one request. */
export class Deadline {
  readonly untilMs: number
  readonly #onCallerGone: OnCallerGone | undefined
  readonly #reject: (fault: Fault) => void
  #controller: AbortController | undefined
  #fault: Fault | undefined
  /** The work has ended, so nothing is aborted any more. */
  isDone = false

  constructor(untilMs: number, onCallerGone: OnCallerGone | undefined, reject: (fault: Fault) => void) {
    this.untilMs = untilMs
    this.#onCallerGone = onCallerGone
    this.#reject = reject
  }

  /** Aborts at the time limit and when the caller disconnects. Created at the first use: most requests need none. */
  get signal(): AbortSignal {
    if (!this.#controller) {
      const controller = new AbortController()
      this.#controller = controller
      if (this.#fault) controller.abort(this.#fault)
      else this.#onCallerGone?.(() => !this.isDone && controller.abort(new CallerGone()))
    }
    return this.#controller.signal
  }

  giveUp(fault: Fault): void {
    this.#fault = fault
    this.#controller?.abort(fault)
    this.#reject(fault)
  }
}

export function openDeadlines(clock: Clock, allowedMs: number): Deadlines {
  const pending = new Set<Deadline>()
  const stop = clock.every(sweepMs, () => {
    const nowMs = clock.monotonicMs()
    for (const deadline of pending) {
      if (deadline.untilMs > nowMs) continue
      pending.delete(deadline)
      deadline.giveUp(new Fault('server.timeout', { detail: `no response within ${allowedMs} ms` }))
    }
  })
  return {
    within<T>(work: (deadline: Deadline) => Promise<T>, onCallerGone?: OnCallerGone): Promise<T> {
      return new Promise<T>((resolve, reject) => {
        const deadline = new Deadline(clock.monotonicMs() + allowedMs, onCallerGone, reject)
        pending.add(deadline)
        const end = () => {
          deadline.isDone = true
          pending.delete(deadline)
        }
        work(deadline).then(
          (value) => {
            end()
            resolve(value)
          },
          (error: unknown) => {
            end()
            reject(error)
          },
        )
      })
    },
    get inFlight() {
      return pending.size
    },
    close: stop,
  }
}
