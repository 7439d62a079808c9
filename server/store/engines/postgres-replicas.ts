// Read replicas, for reads that may be a second old.
//
// 1. A replica is asked only when it has replayed every commit that this process knew of when it was asked, which is all
//    of them but those of the last moment (state 7). Otherwise the primary is.
// 2. A replica that fails is left alone for a while; nobody waits for it twice.
import { systemClock } from '#io/clock.ts'
import type { Row, State, StateReader, Value } from '../state.ts'
import type { Place } from './postgres-place.ts'
import { Sessions } from './postgres-pool.ts'
import type { Session } from './postgres-session.ts'
import { newestCommit } from './postgres-watch.ts'

const restMs = 5000

interface Replica {
  readonly sessions: Sessions
  /** It has replayed at least this commit, and will never go back. */
  number: number
  restUntilMs: number
}

export class Replicas {
  readonly #all: readonly Replica[]
  #next = 0

  constructor(places: readonly Place[], connections: number) {
    this.#all = places.map((place) => ({
      sessions: new Sessions(place, 'replica', connections, 0),
      number: -1,
      restUntilMs: Number.NEGATIVE_INFINITY,
    }))
  }

  /** `heard` is the newest commit that this process knows of. */
  reader(primary: State, heard: () => number): StateReader {
    if (this.#all.length === 0) return primary
    const ask = <T>(work: (session: Session) => Promise<T>, otherwise: () => Promise<T>) =>
      this.#ask(heard(), work, otherwise)
    return {
      get: <R = Row>(sql: string, ...values: Value[]) =>
        ask<R | undefined>(
          async (session) => (await session.rows<R>(sql, values))[0],
          () => primary.get<R>(sql, ...values),
        ),
      all: <R = Row>(sql: string, ...values: Value[]) =>
        ask(
          (session) => session.rows<R>(sql, values),
          () => primary.all<R>(sql, ...values),
        ),
    }
  }

  async #ask<T>(heard: number, work: (session: Session) => Promise<T>, otherwise: () => Promise<T>): Promise<T> {
    const replica = this.#awake()
    if (!replica) return otherwise()
    try {
      const found = await replica.sessions.once(async (session) => {
        if (replica.number < heard) {
          const row = await session.script<{ number: number }>(newestCommit)
          replica.number = Math.max(replica.number, row?.number ?? -1)
        }
        return replica.number >= heard ? { is: await work(session) } : undefined
      })
      if (found) return found.is
    } catch {
      // If it was the question's fault, the primary says so.
      replica.restUntilMs = systemClock.monotonicMs() + restMs
    }
    return otherwise()
  }

  /** Each in its turn. */
  #awake(): Replica | undefined {
    const nowMs = systemClock.monotonicMs()
    for (let step = 0; step < this.#all.length; step++) {
      this.#next = (this.#next + 1) % this.#all.length
      const replica = this.#all[this.#next]
      if (replica && replica.restUntilMs <= nowMs) return replica
    }
    return undefined
  }

  async close(): Promise<void> {
    await Promise.all(this.#all.map(({ sessions }) => sessions.close()))
  }
}
