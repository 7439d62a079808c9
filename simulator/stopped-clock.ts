// A clock that always returns the same time but waits normally, for loads that must be repeatable.
import type { Clock } from '#runtime/clock.ts'

export const stoppedAt = (clock: Clock, atMs: number): Clock => ({
  now: () => atMs,
  monotonicMs: () => clock.monotonicMs(),
  sleep: (waitMs, signal) => clock.sleep(waitMs, signal),
  every: (periodMs, work) => clock.every(periodMs, work),
})
