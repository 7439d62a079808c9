// Retries work during an outage of PostgreSQL. The waiting time is counted from the start of the outage: all callers wait
// until the same time, and later ones fail at once.
import { systemClock } from '#runtime/clock.ts'
import { ConnectionLost } from './errors.ts'

/** Enough for most restarts and failovers. */
export const outageWaitMs = 15_000
const stepMs = 20

type OutageRetry = <T>(work: () => Promise<T>) => Promise<T>

/** Repeats `work` while its connection is lost, until the time is up. */
export function createOutageRetry(waitMs: number): OutageRetry {
  let sinceMs: number | undefined
  return async (work) => {
    for (;;) {
      try {
        const result = await work()
        sinceMs = undefined
        return result
      } catch (error) {
        const nowMs = systemClock.monotonicMs()
        if (!(error instanceof ConnectionLost)) throw error
        sinceMs ??= nowMs
        if (nowMs - sinceMs >= waitMs) throw error
        await systemClock.sleep(stepMs)
      }
    }
  }
}
