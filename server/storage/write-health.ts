// Tracks whether the databases can be written, because a database on a full disk can still be read
// (behaviour/operations.md#readiness).
//
// 1. A write that fails in the database makes it unhealthy. Faults without a cause, such as a full queue, do not.
// 2. State and ingest are healthy again after a test write has reached the disk; other transactions may have written nothing. The
//    test write runs with the readiness check, at most every `testWriteMs`.
// 3. Duties are healthy again after the next successful write, or after `silentMs` without a write, because another process
//    may have taken over.
// 4. A write that waits for no other one and has not ended for `blockedMs` makes state or ingest unhealthy until it ends.
//    Reads have other connections, so they may succeed meanwhile.
import { Fault } from '#core/fault.ts'
import type { Clock } from '#runtime/clock.ts'
import { moveCursor } from './coverage.ts'
import type { State } from './state.ts'
import type { StoreName } from './timed.ts'

const testWriteMs = 5000
const silentMs = 15 * 60_000
const blockedMs = 5000
const testStream = 'write-check'

export class WriteHealth {
  readonly #clock: Clock
  /** `sinceMs` in Unix milliseconds, `triedAtMs` on the monotonic clock. */
  readonly #running = new Set<{ readonly store: StoreName; readonly sinceMs: number; readonly startMs: number }>()
  readonly #failing = new Map<StoreName, { readonly sinceMs: number; triedAtMs: number }>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** A state whose writes are watched (4). Those with a lock may wait for the writes of others. */
  watch(state: State, store: 'state' | 'ingest'): State {
    return {
      ...state,
      write: (work, options = {}) =>
        options.lock === undefined ? this.#track(store, () => state.write(work, options)) : state.write(work, options),
      writeTogether: (write, item) => this.#track(store, () => state.writeTogether(write, item)),
    }
  }

  async #track<T>(store: StoreName, write: () => Promise<T>): Promise<T> {
    const running = { store, sinceMs: this.#clock.now(), startMs: this.#clock.monotonicMs() }
    this.#running.add(running)
    try {
      return await write()
    } finally {
      this.#running.delete(running)
    }
  }

  /** Since when a write of this database has not ended, in Unix milliseconds; undefined: none is blocked (4). */
  blockedSince(name: 'state' | 'ingest'): number | undefined {
    const nowMs = this.#clock.monotonicMs()
    for (const { store, sinceMs, startMs } of this.#running)
      if (store === name && nowMs - startMs >= blockedMs) return sinceMs
    return undefined
  }

  /** Call after every write. */
  recordWrite(store: StoreName, outcome: WriteOutcome): void {
    const nowMs = this.#clock.monotonicMs()
    const failing = this.#failing.get(store)
    if (outcome === 'written') {
      if (store === 'duties') this.#failing.delete(store)
    } else if (outcome === 'failed') {
      if (failing) failing.triedAtMs = nowMs
      // The next check writes at once, because only one write may have failed.
      else this.#failing.set(store, { sinceMs: this.#clock.now(), triedAtMs: store === 'duties' ? nowMs : -Infinity })
    }
  }

  /** Since when writes of this database fail, in Unix milliseconds; undefined: they succeed. */
  async failingSince(name: 'state' | 'ingest', state: State): Promise<number | undefined> {
    const failing = this.#failing.get(name)
    if (failing && this.#clock.monotonicMs() - failing.triedAtMs >= testWriteMs) {
      failing.triedAtMs = this.#clock.monotonicMs()
      // A failed test write is recorded like any other write.
      if (await canWriteToDisk(state)) this.#failing.delete(name)
    }
    return this.#failing.get(name)?.sinceMs
  }

  dutiesFailingSince(): number | undefined {
    const failing = this.#failing.get('duties')
    return failing && this.#clock.monotonicMs() - failing.triedAtMs < silentMs ? failing.sinceMs : undefined
  }
}

/** `refused`: for a reason that is not in the database. */
export type WriteOutcome = 'written' | 'failed' | 'refused'

/** `error`: what the write has thrown, if anything. */
export function writeOutcome(error: unknown): WriteOutcome {
  if (error === undefined) return 'written'
  const isOfDatabase = error instanceof Fault && error.code === 'store.unavailable' && error.cause !== undefined
  return isOfDatabase ? 'failed' : 'refused'
}

/** Inserts and deletes a row: the changed page is written, but nothing remains. */
const canWriteToDisk = (state: State): Promise<boolean> =>
  state
    .write(async (tx) => {
      await moveCursor(tx, testStream, 1)
      await tx.run('delete from cursors where stream = ?', testStream)
    })
    .then(
      () => true,
      () => false,
    )
