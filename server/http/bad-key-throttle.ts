// Slows down whoever tries one key after another (behaviour/http.md#too-many-invalid-keys).
//
// 1. Up to `badMax` bad keys of a network within the window are answered as bad. The next one closes the network for bad keys until
//    so many have left the window that another would be allowed. Bad keys that arrive meanwhile do not prolong it.
// 2. Only bad keys are refused. A key is looked up first, so a valid one is never refused for what others at its address did.
// 3. Bad keys are never forgotten inside the window.
import type { Settings } from '#runtime/settings.ts'
import { SlidingWindows } from './sliding-window.ts'

const networksMax = 100_000

export class BadKeyThrottle {
  readonly #badMax: number
  readonly #badKeys: SlidingWindows

  constructor(badMax: number, badWindowMs: number) {
    this.#badMax = badMax
    this.#badKeys = new SlidingWindows(badWindowMs, networksMax)
  }

  /** Counts a bad key. Returns how long bad keys of this network are refused from now on; 0: they are not. */
  countBadKey(network: string, tickMs: number): number {
    const closedMs = this.#refusedForMs(network, tickMs)
    if (closedMs > 0) return closedMs
    this.#badKeys.add(network, tickMs)
    return this.#refusedForMs(network, tickMs)
  }

  #refusedForMs(network: string, tickMs: number): number {
    return this.#badKeys.waitMs(network, this.#badMax + 1, tickMs)
  }
}

export const createBadKeyThrottle = ({ keys }: Settings): BadKeyThrottle =>
  new BadKeyThrottle(keys.badMax, keys.badWindowMs)
