// Requests in flight, each with the time it may take. One sweep a second serves all of them: a timer per request would
// cost more than most answers do.
import { Fault } from '#core/fault.ts'
import type { Clock } from '#io/clock.ts'

const sweepMs = 1000

interface InFlight {
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
export type WhenGone = (leave: () => void) => void

export interface Deadlines {
  /**
   * The work's result, or a fault when it takes longer than allowed. The work is told by its signal, also when `whenGone` says that
   * the caller has left, and need not begin what it has not begun.
   */
  within<T>(work: (signal: AbortSignal) => Promise<T>, whenGone?: WhenGone): Promise<T>
  readonly inFlight: number
  close(): void
}

export function openDeadlines(clock: Clock, allowedMs: number): Deadlines {
  const flying = new Set<InFlight>()
  const stop = clock.every(sweepMs, () => {
    const nowMs = clock.monotonicMs()
    for (const flight of flying) {
      if (flight.untilMs > nowMs) continue
      flying.delete(flight)
      flight.giveUp(new Fault('server.timeout', { detail: `no answer within ${allowedMs} ms` }))
    }
  })
  return {
    within<T>(work: (signal: AbortSignal) => Promise<T>, whenGone?: WhenGone): Promise<T> {
      return new Promise<T>((resolve, reject) => {
        const over = new AbortController()
        const giveUp = (fault: Fault) => {
          over.abort(fault)
          reject(fault)
        }
        const flight: InFlight = { untilMs: clock.monotonicMs() + allowedMs, giveUp }
        flying.add(flight)
        whenGone?.(() => {
          if (flying.has(flight)) over.abort(new CallerGone())
        })
        const landed = () => flying.delete(flight)
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
      return flying.size
    },
    close: stop,
  }
}
