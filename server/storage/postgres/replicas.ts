// Read replicas, for reads that may be a second old.
//
// 1. A replica is used only if it has replayed every commit that this process knows of (storage/state.ts, rule 8).
//    Otherwise, the primary is used.
// 2. A replica that fails is not used for `backoffMs`.
import { systemClock } from '#runtime/clock.ts'
import type { Row, StateReader, Value } from '../state.ts'
import type { PostgresAddress } from './address.ts'
import { newestCommit } from './commit-watch.ts'
import { createSessionPool } from './pool.ts'
import { sessionReader } from './session.ts'

const backoffMs = 5000

export function createReplicas(addresses: readonly PostgresAddress[], connections: number) {
  const all = addresses.map((address) => ({
    sessions: createSessionPool(address, 'replica', connections, 0),
    /** It has replayed at least this commit. */
    number: -1,
    backoffUntilMs: Number.NEGATIVE_INFINITY,
  }))
  let next = 0

  /** In rotation, without replicas that failed recently. */
  function nextAvailable() {
    const nowMs = systemClock.monotonicMs()
    for (let step = 0; step < all.length; step++) {
      next = (next + 1) % all.length
      const replica = all[next]
      if (replica && replica.backoffUntilMs <= nowMs) return replica
    }
    return undefined
  }

  return {
    /** `knownCommit` is the newest commit that this process knows of. */
    reader(primary: StateReader, knownCommit: () => number): StateReader {
      const read = async <T>(work: (reader: StateReader) => Promise<T>): Promise<T> => {
        const known = knownCommit()
        const replica = nextAvailable()
        if (!replica) return work(primary)
        try {
          const result = await replica.sessions.runOnce(async (session) => {
            if (replica.number < known) {
              const row = await session.script<{ number: number }>(newestCommit)
              replica.number = Math.max(replica.number, row?.number ?? -1)
            }
            return replica.number >= known ? { is: await work(sessionReader((use) => use(session))) } : undefined
          })
          if (result) return result.is
        } catch {
          // If the query itself is wrong, the primary reports it.
          replica.backoffUntilMs = systemClock.monotonicMs() + backoffMs
        }
        return work(primary)
      }
      if (all.length === 0) return primary
      return {
        get: <R = Row>(sql: string, ...values: Value[]) => read((reader) => reader.get<R>(sql, ...values)),
        all: <R = Row>(sql: string, ...values: Value[]) => read((reader) => reader.all<R>(sql, ...values)),
      }
    },
    close: () => Promise.all(all.map(({ sessions }) => sessions.close())),
  }
}
