// Stops an address that tries one key after another (decision 0006).
//
// 1. Up to `badMax` bad keys within the window are looked at. The next bad one closes the address until so many have left
//    the window that another would be allowed; what comes meanwhile is not looked at and does not prolong it.
// 2. A key that has worked from the same address is looked at even then, so that one bad neighbour does not stop the
//    others behind a shared address. For a stranger's key, right or wrong, the answer is the same.
// 3. Forgetting is always on the safe side: bad keys are never forgotten inside the window, proofs may be.
import type { Settings } from '#core/settings.ts'
import { Windows } from '#core/window.ts'

const networksMax = 100_000
const provenMax = 50_000

export class Guard {
  readonly #badMax: number
  readonly #bad: Windows
  /** Two halves, the older one goes when the younger is full. */
  #proven = new Proofs()
  #provenBefore = new Proofs()

  constructor(badMax: number, badWindowMs: number) {
    this.#badMax = badMax
    this.#bad = new Windows(badWindowMs, networksMax)
  }

  /** How long this network is still closed; 0: it is open. */
  closedMs(network: string, tickMs: number): number {
    return this.#bad.has(network) ? this.#bad.waitMs(network, this.#badMax + 1, tickMs) : 0
  }

  isProven(network: string, keyId: string): boolean {
    return this.#proven.has(network, keyId) || this.#provenBefore.has(network, keyId)
  }

  good(network: string, keyId: string): void {
    if (this.#proven.size >= provenMax) {
      this.#provenBefore = this.#proven
      this.#proven = new Proofs()
    }
    this.#proven.add(network, keyId)
  }

  /** Notes a bad key and tells how long the network is closed because of it; 0: it stays open. */
  bad(network: string, tickMs: number): number {
    this.#bad.take(network, tickMs)
    return this.#bad.waitMs(network, this.#badMax + 1, tickMs)
  }
}

/** Networks and the key ids that have worked from them. */
class Proofs {
  readonly #keysOf = new Map<string, Set<string>>()
  #size = 0

  get size(): number {
    return this.#size
  }

  has(network: string, keyId: string): boolean {
    return this.#keysOf.get(network)?.has(keyId) ?? false
  }

  add(network: string, keyId: string): void {
    let keys = this.#keysOf.get(network)
    if (!keys) {
      keys = new Set()
      this.#keysOf.set(network, keys)
    }
    const before = keys.size
    this.#size += keys.add(keyId).size - before
  }
}

export const openGuard = ({ keys }: Settings): Guard => new Guard(keys.badMax, keys.badWindowMs)
