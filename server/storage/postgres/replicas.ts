// Read replicas, for reads that may be a second old.
//
// 1. A replica is used only if it has replayed the WAL up to every commit that this process knows of (storage/state.ts,
//    rule 8). Otherwise, the primary is used.
// 2. A replica that fails is not used for `backoffMs`.
import { systemClock } from '#runtime/clock.ts'
import type { Row, StateReader, Value } from '../state.ts'
import type { PostgresAddress } from './address.ts'
import { createSessionPool } from './pool.ts'
import { sessionReader } from './session.ts'

const backoffMs = 5000
/** Null if it is no replica. */
const replayedLsn = `select pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0')::bigint as lsn`

export function createReplicas(addresses: readonly PostgresAddress[], connections: number) {
  const all = addresses.map((address) => ({
    sessions: createSessionPool(address, 'replica', connections, 0),
    /** It has replayed the WAL at least up to here. */
    lsn: -1,
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
    /** `knownLsn` is the position of the newest commit that this process knows of. */
    reader(primary: StateReader, knownLsn: () => number): StateReader {
      const read = async <T>(work: (reader: StateReader) => Promise<T>): Promise<T> => {
        const known = knownLsn()
        const replica = nextAvailable()
        if (!replica) return work(primary)
        try {
          const result = await replica.sessions.runOnce(async (session) => {
            if (replica.lsn < known)
              replica.lsn = (await session.script<{ lsn: number | null }>(replayedLsn))?.lsn ?? -1
            return replica.lsn >= known ? { is: await work(sessionReader((use) => use(session))) } : undefined
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
