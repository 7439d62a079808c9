// Read replicas, for reads that may be a second old.
//
// 1. A replica is used only if it has replayed every commit that this process knows of (storage/state.ts, rule 8).
//    Otherwise, the primary is used.
// 2. A replica that fails is not used for `backoffMs`.
import { systemClock } from '#runtime/clock.ts'
import type { Row, State, StateReader, Value } from '../state.ts'
import type { PostgresAddress } from './address.ts'
import { newestCommit } from './commit-watch.ts'
import { SessionPool } from './pool.ts'
import type { PostgresSession } from './session.ts'

const backoffMs = 5000

interface Replica {
  readonly sessions: SessionPool
  /** It has replayed at least this commit. */
  number: number
  backoffUntilMs: number
}

export class Replicas {
  readonly #all: readonly Replica[]
  #next = 0

  constructor(addresses: readonly PostgresAddress[], connections: number) {
    this.#all = addresses.map((address) => ({
      sessions: new SessionPool(address, 'replica', connections, 0),
      number: -1,
      backoffUntilMs: Number.NEGATIVE_INFINITY,
    }))
  }

  /** `knownCommit` is the newest commit that this process knows of. */
  reader(primary: State, knownCommit: () => number): StateReader {
    if (this.#all.length === 0) return primary
    const read = <T>(work: (session: PostgresSession) => Promise<T>, otherwise: () => Promise<T>) =>
      this.#read(knownCommit(), work, otherwise)
    return {
      get: <R = Row>(sql: string, ...values: Value[]) =>
        read<R | undefined>(
          async (session) => (await session.rows<R>(sql, values))[0],
          () => primary.get<R>(sql, ...values),
        ),
      all: <R = Row>(sql: string, ...values: Value[]) =>
        read(
          (session) => session.rows<R>(sql, values),
          () => primary.all<R>(sql, ...values),
        ),
    }
  }

  async #read<T>(
    knownCommit: number,
    work: (session: PostgresSession) => Promise<T>,
    otherwise: () => Promise<T>,
  ): Promise<T> {
    const replica = this.#nextAvailable()
    if (!replica) return otherwise()
    try {
      const result = await replica.sessions.runOnce(async (session) => {
        if (replica.number < knownCommit) {
          const row = await session.script<{ number: number }>(newestCommit)
          replica.number = Math.max(replica.number, row?.number ?? -1)
        }
        return replica.number >= knownCommit ? { is: await work(session) } : undefined
      })
      if (result) return result.is
    } catch {
      // If the query itself is wrong, the primary reports it.
      replica.backoffUntilMs = systemClock.monotonicMs() + backoffMs
    }
    return otherwise()
  }

  /** In rotation, without replicas that failed recently. */
  #nextAvailable(): Replica | undefined {
    const nowMs = systemClock.monotonicMs()
    for (let step = 0; step < this.#all.length; step++) {
      this.#next = (this.#next + 1) % this.#all.length
      const replica = this.#all[this.#next]
      if (replica && replica.backoffUntilMs <= nowMs) return replica
    }
    return undefined
  }

  async close(): Promise<void> {
    await Promise.all(this.#all.map(({ sessions }) => sessions.close()))
  }
}
