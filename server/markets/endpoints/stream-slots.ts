// How many event streams are open, together and by caller.
import { Fault } from '#core/fault.ts'
import type { Settings } from '#runtime/settings.ts'

/** How soon it is worth asking again. */
export const slotRetryMs = 10_000

export class StreamSlots {
  readonly #byCaller = new Map<string, number>()
  #count = 0

  /** Why there is no slot for this caller; undefined if there is one. */
  refusal(caller: string, { streamsMax, streamsPerCaller }: Settings['markets']): Fault | undefined {
    const own = this.#byCaller.get(caller) ?? 0
    if (own >= streamsPerCaller) return new Fault('markets.streams_own', { retryAfterMs: slotRetryMs })
    return this.#count >= streamsMax ? new Fault('markets.streams_full', { retryAfterMs: slotRetryMs }) : undefined
  }

  take(caller: string): void {
    this.#count += 1
    this.#byCaller.set(caller, (this.#byCaller.get(caller) ?? 0) + 1)
  }

  release(caller: string): void {
    this.#count -= 1
    const left = (this.#byCaller.get(caller) ?? 0) - 1
    if (left > 0) this.#byCaller.set(caller, left)
    else this.#byCaller.delete(caller)
  }
}
