// Time limits of requests in flight. One check per second covers all of them, because a timer per request would cost more
// than most requests.
import { Fault } from '#core/fault.ts'
import type { Clock } from '#runtime/clock.ts'

const sweepMs = 1000

interface PendingRequest {
  readonly untilMs: number
  readonly giveUp: (fault: Fault) => void
}

/** The caller has disconnected. This is not a failure of the server. */
export class CallerGone extends Fault {
  constructor() {
    super('server.timeout', { detail: 'the caller has disconnected' })
  }
}

/** Registers a callback for when the caller has disconnected or has got the response. */
export type OnCallerGone = (leave: () => void) => void

export interface Deadlines {
  /**
   * The result of the work, or a fault if it takes too long. The signal aborts at the time limit and when the caller
   * disconnects.
   */
  within<T>(work: (signal: AbortSignal) => Promise<T>, onCallerGone?: OnCallerGone): Promise<T>
  readonly inFlight: number
  close(): void
}

export function openDeadlines(clock: Clock, allowedMs: number): Deadlines {
  const pending = new Set<PendingRequest>()
  const stop = clock.every(sweepMs, () => {
    const nowMs = clock.monotonicMs()
    for (const request of pending) {
      if (request.untilMs > nowMs) continue
      pending.delete(request)
      request.giveUp(new Fault('server.timeout', { detail: `no response within ${allowedMs} ms` }))
    }
  })
  return {
    within<T>(work: (signal: AbortSignal) => Promise<T>, onCallerGone?: OnCallerGone): Promise<T> {
      return new Promise<T>((resolve, reject) => {
        const stop = new AbortController()
        const giveUp = (fault: Fault) => {
          stop.abort(fault)
          reject(fault)
        }
        const request: PendingRequest = { untilMs: clock.monotonicMs() + allowedMs, giveUp }
        pending.add(request)
        onCallerGone?.(() => {
          if (pending.has(request)) stop.abort(new CallerGone())
        })
        work(stop.signal)
          .finally(() => pending.delete(request))
          .then(resolve, reject)
      })
    },
    get inFlight() {
      return pending.size
    },
    close: stop,
  }
}
