// Whether the stores take what is written: one that answers every question may lie on a full disk (behaviour/operations.md#readiness).
//
// 1. A write that its engine failed at makes a store unwell. Refusals of our own, such as too many waiting or being closed, do not: they
//    carry no cause.
// 2. The state is well again when a write of our own has reached the disk; a transaction of somebody's may have had nothing to
//    write. It is tried when somebody asks, at once and then not more often than every `tryMs`.
// 3. Duties are written by readers that try again. They are well with the next write that succeeds, or when nobody has tried for
//    `silentMs`: another process may have taken over.
import { Fault } from '#core/fault.ts'
import type { Clock } from '#runtime/clock.ts'
import { moveCursor } from './coverage.ts'
import type { State } from './state.ts'

const tryMs = 5000
const silentMs = 15 * 60_000
const probeStream = 'does the disk take this'

type Port = 'state' | 'duties'

interface Failing {
  /** Unix milliseconds. */
  readonly sinceMs: number
  triedAtMs: number
}

export class WriteHealth {
  readonly #clock: Clock
  readonly #failing = new Map<Port, Failing>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** After every write. */
  recordWrite(port: Port, error?: unknown): void {
    const nowMs = this.#clock.monotonicMs()
    const failing = this.#failing.get(port)
    if (error === undefined) {
      if (port === 'duties') this.#failing.delete(port)
    } else if (isEngines(error)) {
      if (failing) failing.triedAtMs = nowMs
      // The first question about the state tries at once: it may have been one write that failed.
      else this.#failing.set(port, { sinceMs: this.#clock.now(), triedAtMs: port === 'state' ? -Infinity : nowMs })
    }
  }

  /** Since when the state takes nothing, in Unix milliseconds; undefined: it does. */
  async stateFailingSince(state: State): Promise<number | undefined> {
    const failing = this.#failing.get('state')
    if (failing && this.#clock.monotonicMs() - failing.triedAtMs >= tryMs) {
      failing.triedAtMs = this.#clock.monotonicMs()
      // A failure is told like any other.
      if (await canWriteToDisk(state)) this.#failing.delete('state')
    }
    return this.#failing.get('state')?.sinceMs
  }

  dutiesFailingSince(): number | undefined {
    const failing = this.#failing.get('duties')
    return failing && this.#clock.monotonicMs() - failing.triedAtMs < silentMs ? failing.sinceMs : undefined
  }
}

const isEngines = (error: unknown): boolean =>
  error instanceof Fault && error.code === 'store.unavailable' && error.cause !== undefined

/** Pages that were changed and changed back are written all the same, and leave nothing. */
const canWriteToDisk = (state: State): Promise<boolean> =>
  state
    .write(async (tx) => {
      await moveCursor(tx, probeStream, 1)
      await tx.run('delete from cursors where stream = ?', probeStream)
    })
    .then(
      () => true,
      () => false,
    )
