// The time by which rows are deleted and keys expire. The clock of a machine may be wrong by years, for example after a
// start with an empty battery, and what was deleted does not come back.
//
// 1. The proven time goes on with the monotonic clock, so it does not follow a clock that is set. What moves it otherwise:
//    operations/proven-time/keep-proven-time.ts.
// 2. Before it is known, it is in 1970, so that nothing is deleted.
// 3. All threads of a process share it.
import type { Clock } from './clock.ts'

export class ProvenTime {
  readonly #clock: Pick<Clock, 'now' | 'monotonicMs'>
  /** One number: by how much the proven time is ahead of the monotonic clock. Other threads get it when they start. */
  readonly shared: Float64Array<SharedArrayBuffer>
  /** For how long the server has run while clock and proven time differ. Only on the main thread. */
  ranMs = 0

  constructor(
    clock: Pick<Clock, 'now' | 'monotonicMs'>,
    shared = new Float64Array(new SharedArrayBuffer(Float64Array.BYTES_PER_ELEMENT)),
  ) {
    this.#clock = clock
    this.shared = shared
  }

  get ms(): number {
    return Math.floor(this.#clock.monotonicMs() + (this.shared[0] ?? 0))
  }

  set ms(atMs: number) {
    this.shared[0] = atMs - this.#clock.monotonicMs()
  }

  /** For deletions, and for replies that are repeated until a time: the earlier of clock and proven time. */
  forDeletions(): number {
    return Math.min(this.#clock.now(), this.ms)
  }

  /**
   * For keys that expire: the later of clock and proven time. A key that was refused too early works again when the clock
   * is right, but one that was accepted too late has been used.
   */
  forKeys(): number {
    return Math.max(this.#clock.now(), this.ms)
  }
}
