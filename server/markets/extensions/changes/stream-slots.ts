// Counts open event streams, in total and per caller, and enforces the limits.
import { Fault } from '#core/fault.ts'
import type { Settings } from '#runtime/settings.ts'

export const slotRetryMs = 10_000

export class StreamSlots {
  readonly #byCaller = new Map<string, number>()
  #count = 0

  /** Undefined if there is a free slot. */
  refusal(caller: string, { streamsMax, streamsPerCaller }: Settings['markets']): Fault | undefined {
    const open = this.#byCaller.get(caller) ?? 0
    if (open >= streamsPerCaller) return new Fault('markets.streams_per_caller', { retryAfterMs: slotRetryMs })
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
