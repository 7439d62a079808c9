// Read replicas on PostgreSQL, for queries that are slow or frequent and may be a second old (`recent` in storage/state.ts).
//
// 1. A replica is used only if it has replayed the WAL up to every commit that this process knows of (storage/state.ts,
//    rule 8), on the timeline of the primary: after a failover, a standby of the former primary may have more WAL, but
//    not these commits. Otherwise, the primary is used.
// 2. What a connection has replayed is known as long as it is open: a server that is restored from a backup restarts.
// 3. A replica that fails is not used for `backoffMs`.
import { systemClock } from '#runtime/clock.ts'
import { readCurrent } from '../recent-reader.ts'
import type { RecentReader, Row, State, StateReader, Value } from '../state.ts'
import type { PostgresAddress } from './address.ts'
import { createSessionPool, inTransaction, type SessionPool } from './pool.ts'
import { type PostgresSession, sessionReader } from './session.ts'
import type { RequiredPosition } from './wal-position.ts'

const backoffMs = 5000
/** `lsn` is null if it is no replica. */
const replayedPosition = `select pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0')::bigint as lsn,
  (select id from state_timelines order by number desc limit 1) as timeline`

export function createReplicas(addresses: readonly PostgresAddress[], connections: number, statementMs?: number) {
  const all = addresses.map((address) => ({
    sessions: createSessionPool(address, 'replica', connections, 0, statementMs),
    backoffUntilMs: Number.NEGATIVE_INFINITY,
  }))
  /** Each connection has replayed the WAL at least up to here. */
  const reached = new WeakMap<PostgresSession, RequiredPosition>()
  let next = 0

  /** `isAlone`: it is not in a transaction. */
  async function hasReached(session: PostgresSession, required: RequiredPosition, isAlone: boolean): Promise<boolean> {
    const isReached = (position?: RequiredPosition) =>
      position !== undefined && position.timeline === required.timeline && position.lsn >= required.lsn
    if (isReached(reached.get(session))) return true
    type Position = { lsn: number | null; timeline: string | null }
    const row = isAlone
      ? (await session.readScript<Position>(replayedPosition))[0]
      : await session.script<Position>(replayedPosition)
    const position = { lsn: row?.lsn ?? -1, timeline: row?.timeline ?? undefined }
    // Behind a pooler, the next transaction may reach another server.
    if (!session.isPooled) reached.set(session, position)
    return isReached(position)
  }

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
    reader(primary: Pick<State, 'get' | 'all' | 'snapshot'>, requiredPosition: () => RequiredPosition): RecentReader {
      if (all.length === 0) return readCurrent(primary)
      /** `fromReplica` returns undefined if the replica is behind. */
      const read = async <T>(
        fromReplica: (sessions: SessionPool, required: RequiredPosition) => Promise<{ readonly is: T } | undefined>,
        fromPrimary: () => Promise<T>,
        signal?: AbortSignal,
      ): Promise<T> => {
        const required = requiredPosition()
        const replica = required.timeline === undefined ? undefined : nextAvailable()
        if (!replica) return fromPrimary()
        try {
          const result = await fromReplica(replica.sessions, required)
          if (result) return result.is
        } catch {
          signal?.throwIfAborted()
          // If the query itself is wrong, the primary reports it.
          replica.backoffUntilMs = systemClock.monotonicMs() + backoffMs
        }
        return fromPrimary()
      }
      /** The check and the query are in one transaction, if there is one. */
      const readOnce = <T>(work: (reader: StateReader) => Promise<T>): Promise<T> =>
        read(
          (sessions, required) =>
            sessions.runWithoutRetry(async (session) =>
              (await hasReached(session, required, false)) ? { is: await work(readerOf(session)) } : undefined,
            ),
          () => work(primary),
        )
      return {
        get: <R = Row>(sql: string, ...values: Value[]) => readOnce((reader) => reader.get<R>(sql, ...values)),
        all: <R = Row>(sql: string, ...values: Value[]) => readOnce((reader) => reader.all<R>(sql, ...values)),
        snapshot: (isRecent, work, signal) =>
          read(
            (sessions, required) =>
              sessions.use(async (session) => {
                signal?.throwIfAborted()
                // Before the transaction: its snapshot could be older than the position that it reads.
                if (!(await hasReached(session, required, true))) return undefined
                return inTransaction(session, 'isolation level repeatable read', async () =>
                  (await isRecent(readerOf(session))) ? { is: await work(readerOf(session)) } : undefined,
                )
              }),
            () => primary.snapshot(work, signal),
            signal,
          ),
      }
    },
    close: () => Promise.all(all.map(({ sessions }) => sessions.close())),
  }
}

const readerOf = (session: PostgresSession): StateReader => sessionReader((use) => use(session))
