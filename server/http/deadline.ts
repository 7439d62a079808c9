// Time limits of requests in flight. One check per second covers all of them, because a timer per request would cost more
// than most requests.
import type { Awaitable } from '#core/awaitable.ts'
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

/** The time limit of one request. */
export class Deadline {
  readonly #onCallerGone: OnCallerGone | undefined
  #controller: AbortController | undefined
  #fault: Fault | undefined
  /** The work has ended, so nothing is aborted any more. */
  isDone = false

  constructor(onCallerGone: OnCallerGone | undefined) {
    this.#onCallerGone = onCallerGone
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
  }
}

interface PendingWork {
  readonly deadline: Deadline
  readonly untilMs: number
  readonly reject: (fault: Fault) => void
}

export type Deadlines = ReturnType<typeof openDeadlines>

export function openDeadlines(clock: Clock, allowedMs: number) {
  const pending = new Set<PendingWork>()
  const stop = clock.every(sweepMs, () => {
    const nowMs = clock.monotonicMs()
    for (const work of pending) {
      if (work.untilMs > nowMs) continue
      pending.delete(work)
      const fault = new Fault('server.timeout', { detail: `no response within ${allowedMs} ms` })
      work.deadline.giveUp(fault)
      work.reject(fault)
    }
  })
  const waitFor = <T>(promise: Promise<T>, deadline: Deadline): Promise<T> =>
    new Promise<T>((resolve, reject) => {
      const work: PendingWork = { deadline, untilMs: clock.monotonicMs() + allowedMs, reject }
      pending.add(work)
      const end = () => {
        deadline.isDone = true
        pending.delete(work)
      }
      promise.finally(end).then(resolve, reject)
    })
  return {
    /** The result of the work, or a fault if it takes too long. */
    within<T>(work: (deadline: Deadline) => Awaitable<T>, onCallerGone?: OnCallerGone): Awaitable<T> {
      const deadline = new Deadline(onCallerGone)
      const result = work(deadline)
      if (result instanceof Promise) return waitFor<T>(result, deadline)
      deadline.isDone = true
      return result
    },
    get inFlight() {
      return pending.size
    },
    close: stop,
  }
}
