// Repeats work of requests and ingesters during an outage of PostgreSQL. An outage begins with the first lost connection.
// Every caller may retry until `waitMs` after that moment. A caller that arrives later gets the error immediately. So does one
// that has waited for the reply to a statement until its limit.
import { type Clock, systemClock } from '#runtime/clock.ts'
import { ConnectionLost, NoReply } from './errors.ts'

/** Enough for most restarts and failovers. */
export const outageWaitMs = 15_000
const stepMs = 20

type OutageClock = Pick<Clock, 'monotonicMs' | 'sleep'>
export type OutageRetry = <T>(work: () => Promise<T>) => Promise<T>

/** Repeats `work` while its connection is lost, until the time is up. */
export function createOutageRetry(waitMs: number, clock: OutageClock = systemClock): OutageRetry {
  /** When the outage began. */
  let sinceMs = 0
  /** When a connection was last lost; undefined: work has succeeded since. */
  let lostMs: number | undefined
  return async (work) => {
    const startMs = clock.monotonicMs()
    for (;;) {
      try {
        const result = await work()
        lostMs = undefined
        return result
      } catch (error) {
        if (!(error instanceof ConnectionLost) || error instanceof NoReply) throw error
        const nowMs = clock.monotonicMs()
        // The earlier outage is over if work has succeeded since, or if nothing has failed for so long before this call.
        if (lostMs === undefined || startMs - lostMs > waitMs) sinceMs = nowMs
        lostMs = nowMs
        if (nowMs - sinceMs >= waitMs) throw error
        await clock.sleep(stepMs)
      }
    }
  }
}
