// Slows down whoever tries one key after another (decision 0006).
//
// 1. Up to `badMax` bad keys of a network within the window are answered as bad. The next one closes the network for bad keys until
//    so many have left the window that another would be allowed. Bad keys that arrive meanwhile do not prolong it.
// 2. Only bad keys are refused. A key is looked up first, so a valid one is never refused for what others at its address did.
// 3. Bad keys are never forgotten inside the window.
import type { Settings } from '#core/settings.ts'
import { Windows } from '#core/window.ts'

const networksMax = 100_000

export class Guard {
  readonly #badMax: number
  readonly #bad: Windows

  constructor(badMax: number, badWindowMs: number) {
    this.#badMax = badMax
    this.#bad = new Windows(badWindowMs, networksMax)
  }

  /** Counts a bad key. Returns how long bad keys of this network are refused from now on; 0: they are not. */
  bad(network: string, tickMs: number): number {
    const closedMs = this.#closedMs(network, tickMs)
    if (closedMs > 0) return closedMs
    this.#bad.take(network, tickMs)
    return this.#closedMs(network, tickMs)
  }

  #closedMs(network: string, tickMs: number): number {
    return this.#bad.waitMs(network, this.#badMax + 1, tickMs)
  }
}

export const openGuard = ({ keys }: Settings): Guard => new Guard(keys.badMax, keys.badWindowMs)
