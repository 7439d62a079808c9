// How long the database has not replied to the commit watch, and what follows from it.
//
// 1. After `silentTicksMax` ticks without a reply, cached data counts as stale (behaviour/operations.md#cache-invalidation).
//    If the server refuses connections because it restarts, the limit is `refusedTicksMax`, because no process can write
//    meanwhile.
// 2. Time is counted by timer ticks, so that a busy process does not count as an outage.
import { unavailable } from '../write-queue.ts'
import { ConnectionLost } from './errors.ts'

export const tickMs = 500
const silentTicksMax = 6
const refusedTicksMax = 30
/** Then all connections are closed, because the network may drop packets. */
const deadTicksMax = 12

export class Silence {
  #silentTicks = 0
  #refusedTicks = 0
  /** Why the last query failed; undefined after a success. */
  #failure: unknown = new Error('not read yet')

  get hasFailed(): boolean {
    return this.#failure !== undefined
  }

  /** Counts a tick, and returns whether the connections should be closed now. */
  tick(): boolean {
    if (this.#failure instanceof ConnectionLost && this.#failure.refused) this.#refusedTicks += 1
    else this.#silentTicks += 1
    return this.#silentTicks > 0 && this.#silentTicks % deadTicksMax === 0
  }

  end(): void {
    this.#silentTicks = 0
    this.#refusedTicks = 0
    this.#failure = undefined
  }

  fail(error: unknown): void {
    this.#failure = error
  }

  /** Rule 1. `name` is the database in the fault. */
  throwIfTooLong(name: string): void {
    if (this.#silentTicks < silentTicksMax && this.#refusedTicks < refusedTicksMax) return
    const reason = this.#failure instanceof Error ? this.#failure.message : 'no reply'
    const seconds = ((this.#silentTicks + this.#refusedTicks) * tickMs) / 1000
    throw unavailable(`${name} has not responded for ${seconds} s, so cached data may be stale (${reason})`)
  }
}
