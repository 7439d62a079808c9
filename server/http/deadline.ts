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

/** The work has its result, so what still runs of it is not needed. */
const ended = new Fault('server.timeout', { detail: 'the request has ended' })

/** Calls `leave` when the caller has disconnected or has got the response. */
export type OnCallerGone = (leave: () => void) => void

/** The time limit of one request. */
export class Deadline {
  readonly #onCallerGone: OnCallerGone | undefined
  #controller: AbortController | undefined
  #fault: Fault | undefined

  constructor(onCallerGone: OnCallerGone | undefined) {
    this.#onCallerGone = onCallerGone
  }

  /**
   * Aborts at the time limit, when the caller disconnects and when the work has ended. Created at the first use: most
   * requests need none.
   */
  get signal(): AbortSignal {
    if (!this.#controller) {
      const controller = new AbortController()
      this.#controller = controller
      if (this.#fault) controller.abort(this.#fault)
      else this.#onCallerGone?.(() => this.giveUp(new CallerGone()))
    }
    return this.#controller.signal
  }

  /** Only the first one counts. */
  giveUp(fault: Fault): void {
    if (this.#fault) return
    this.#fault = fault
    this.#controller?.abort(fault)
  }

  /** The work has ended. Throws if nobody waits for its result any more. */
  end(): void {
    if (this.#fault) throw this.#fault
    this.giveUp(ended)
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
        pending.delete(work)
        deadline.end()
      }
      promise.finally(end).then(resolve, reject)
    })
  return {
    /** The result of the work, or a fault if it takes too long. */
    within<T>(work: (deadline: Deadline) => Awaitable<T>, onCallerGone?: OnCallerGone): Awaitable<T> {
      const deadline = new Deadline(onCallerGone)
      const result = work(deadline)
      if (result instanceof Promise) return waitFor<T>(result, deadline)
      deadline.end()
      return result
    },
    get inFlight() {
      return pending.size
    },
    close: stop,
  }
}
