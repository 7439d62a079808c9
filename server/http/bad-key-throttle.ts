// Throttles callers that try many keys (behaviour/http.md#too-many-invalid-keys).
//
// 1. A network may send `badKeysMax` bad keys within the window. Then further bad keys are throttled until one of the
//    counted keys leaves the window. Throttled keys are not counted.
// 2. Only bad keys are throttled. Keys are looked up first, so valid keys always work.
// 3. Bad keys are counted for the whole window.
import type { Settings } from '#runtime/settings.ts'
import { SlidingWindows } from './sliding-window.ts'

const networksMax = 100_000

export type BadKeyThrottle = ReturnType<typeof createBadKeyThrottle>

export function createBadKeyThrottle({ keys }: Pick<Settings, 'keys'>) {
  const badKeys = new SlidingWindows(keys.badKeysWindowMs, networksMax)
  const waitMs = (network: string, tickMs: number) => badKeys.waitMs(network, keys.badKeysMax + 1, tickMs)
  return {
    /** Counts a bad key and returns how long bad keys of this network are throttled; 0: not at all. */
    countBadKey(network: string, tickMs: number): number {
      const throttledMs = waitMs(network, tickMs)
      if (throttledMs > 0) return throttledMs
      badKeys.add(network, tickMs)
      return waitMs(network, tickMs)
    },
  }
}
