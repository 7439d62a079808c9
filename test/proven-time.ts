// A proven time that goes on with the clock of a test, as that of a server whose clock is right.
import type { Clock } from '#runtime/clock.ts'
import { ProvenTime } from '#runtime/proven-time.ts'

export function provenTimeOf(clock: Clock): ProvenTime {
  const provenTime = new ProvenTime(clock)
  provenTime.ms = clock.now()
  return provenTime
}
