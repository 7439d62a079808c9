// Waits in a test until a condition is true. A wait without a limit would keep the whole run from ending.
//   await waitUntil(() => server.handled() > 0)
import { setImmediate, setTimeout } from 'node:timers/promises'

type Condition = () => boolean | Promise<boolean>

/** Much longer than any test needs, also on a busy machine. */
const waitMaxMs = 120_000
const pauseMs = 5

export const waitUntil = (isTrue: Condition): Promise<void> => waitWith(() => setTimeout(pauseMs), isTrue)

/** Checks after each turn of the event loop, for conditions that are true only for a moment. */
export const waitForMoment = (isTrue: Condition): Promise<void> => waitWith(setImmediate, isTrue)

async function waitWith(pause: () => Promise<unknown>, isTrue: Condition): Promise<void> {
  const endMs = performance.now() + waitMaxMs
  while (!(await isTrue())) {
    if (performance.now() > endMs) throw new Error(`After ${waitMaxMs / 1000} s this is still not true: ${isTrue}`)
    await pause()
  }
}
