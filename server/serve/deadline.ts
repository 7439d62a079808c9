// Requests in flight, each with the time it may take. One sweep a second serves all of them: a timer per request would
// cost more than most answers do.
import { Fault } from '#core/fault.ts'
import type { Clock } from '#io/clock.ts'

const sweepMs = 1000

interface InFlight {
  readonly untilMs: number
  readonly giveUp: (fault: Fault) => void
}

export interface Deadlines {
  /** The work's result, or a fault when it takes longer than allowed. The work itself is not interrupted. */
  within<T>(work: Promise<T>): Promise<T>
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
    within<T>(work: Promise<T>): Promise<T> {
      return new Promise<T>((resolve, reject) => {
        const flight: InFlight = { untilMs: clock.monotonicMs() + allowedMs, giveUp: reject }
        flying.add(flight)
        const landed = () => flying.delete(flight)
        work.then(
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
