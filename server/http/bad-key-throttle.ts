// Throttles callers that try many keys (behaviour/http.md#too-many-invalid-keys).
//
// 1. A network may send `badKeysMax` bad keys within the window. Then further bad keys are throttled until one of the
//    counted keys leaves the window. Throttled keys are not counted.
// 2. Only bad keys are throttled. Keys are looked up first, so valid keys always work.
// 3. Bad keys are counted for the whole window.
import type { Settings } from '#runtime/settings.ts'
import { SlidingWindows } from './sliding-window.ts'

const networksMax = 100_000

export class BadKeyThrottle {
  readonly #badKeysMax: number
  readonly #badKeys: SlidingWindows

  constructor(badKeysMax: number, badKeysWindowMs: number) {
    this.#badKeysMax = badKeysMax
    this.#badKeys = new SlidingWindows(badKeysWindowMs, networksMax)
  }

  /** Counts a bad key and returns how long bad keys of this network are throttled; 0: not at all. */
  countBadKey(network: string, tickMs: number): number {
    const throttledMs = this.#refusedForMs(network, tickMs)
    if (throttledMs > 0) return throttledMs
    this.#badKeys.add(network, tickMs)
    return this.#refusedForMs(network, tickMs)
  }

  #refusedForMs(network: string, tickMs: number): number {
    return this.#badKeys.waitMs(network, this.#badKeysMax + 1, tickMs)
  }
}

export const createBadKeyThrottle = ({ keys }: Settings): BadKeyThrottle =>
  new BadKeyThrottle(keys.badKeysMax, keys.badKeysWindowMs)
