// A clock that shows one moment while its waits go on as before: for loads that must come out the same when repeated.
import type { Clock } from '#runtime/clock.ts'

export const stoppedAt = (clock: Clock, atMs: number): Clock => ({
  now: () => atMs,
  monotonicMs: () => clock.monotonicMs(),
  sleep: (waitMs, signal) => clock.sleep(waitMs, signal),
  every: (periodMs, work) => clock.every(periodMs, work),
})
