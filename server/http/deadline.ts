// Requests in flight, each with the time it may take. One sweep a second serves all of them: a timer per request would
// cost more than most answers do.
import { Fault } from '#core/fault.ts'
import type { Clock } from '#runtime/clock.ts'

const sweepMs = 1000

interface PendingRequest {
  readonly untilMs: number
  readonly giveUp: (fault: Fault) => void
}

/** Nobody is left to hear the answer: no failure of ours, and told apart from one. */
export class CallerGone extends Fault {
  constructor() {
    super('server.timeout', { detail: 'the caller has gone' })
  }
}

/** Calls what it is given when the caller has gone, or has been answered. */
export type OnCallerGone = (leave: () => void) => void

export interface Deadlines {
  /**
   * The work's result, or a fault when it takes longer than allowed. The work is told by its signal, also when `whenGone` says that
   * the caller has left, and need not begin what it has not begun.
   */
  within<T>(work: (signal: AbortSignal) => Promise<T>, whenGone?: OnCallerGone): Promise<T>
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
      request.giveUp(new Fault('server.timeout', { detail: `no answer within ${allowedMs} ms` }))
    }
  })
  return {
    within<T>(work: (signal: AbortSignal) => Promise<T>, onCallerGone?: OnCallerGone): Promise<T> {
      return new Promise<T>((resolve, reject) => {
        const over = new AbortController()
        const giveUp = (fault: Fault) => {
          over.abort(fault)
          reject(fault)
        }
        const request: PendingRequest = { untilMs: clock.monotonicMs() + allowedMs, giveUp }
        pending.add(request)
        onCallerGone?.(() => {
          if (pending.has(request)) over.abort(new CallerGone())
        })
        const landed = () => pending.delete(request)
        work(over.signal).then(
          (value) => {
            landed()
            resolve(value)
          },
          (error: unknown) => {
            landed()
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
