// Detects commits of all processes on PostgreSQL, for `version` (storage/state.ts, rule 3).
//
// 1. Each commit writes the next number to `state_commits` and sends a notification. A separate connection listens. It
//    also reads the number once a second, in case a notification was lost or the connection is dead.
// 2. After `silentTicksMax` seconds without a reply, `version` throws, so that no stale cache is used
//    (behaviour/operations.md#cache-invalidation). If the server refuses connections because it restarts, the limit is
//    `refusedTicksMax`, because no process can write meanwhile.
// 3. Seconds are counted by timer ticks, so that a busy process does not count as an outage.
import { systemClock } from '#runtime/clock.ts'
import { unavailable } from '../write-queue.ts'
import type { PostgresAddress } from './address.ts'
import { ConnectionLost } from './errors.ts'
import { PostgresSession } from './session.ts'

const tickMs = 1000
const silentTicksMax = 3
const refusedTicksMax = 15
/** Then all connections are closed, because the network may drop packets. */
const deadTicksMax = 6

export type CommitWatch = Awaited<ReturnType<typeof openCommitWatch>>

/** `onDead` is called after a long time without a reply. */
export async function openCommitWatch(address: PostgresAddress, channel: string, onDead: () => void) {
  let session: PostgresSession | undefined
  let pendingQuery: Promise<void> | undefined
  /** The newest known number. */
  let newest = -1
  let version = 0
  let silentTicks = 0
  let refusedTicks = 0
  /** Why the last query failed; undefined after a success. */
  let failure: unknown
  let isClosed = false

  const stop = systemClock.every(tickMs, () => {
    if (failure instanceof ConnectionLost && failure.refused) refusedTicks += 1
    else silentTicks += 1
    if (silentTicks >= deadTicksMax && silentTicks % deadTicksMax === 0) {
      onDead()
      void session?.close()
    }
    void poll()
  })

  function poll(): Promise<void> {
    pendingQuery ??= query().finally(() => {
      pendingQuery = undefined
    })
    return pendingQuery
  }

  async function query(): Promise<void> {
    try {
      if (!session || session.lost) session = await listen()
      const before = newest
      const row = await session.script<{ number: number }>(newestCommit)
      const number = row?.number ?? 0
      // If a newer number became known during the query, only a higher one is a change. Otherwise any other number is:
      // after a failover to a server that lacks commits, it is lower.
      if (newest === before ? number !== before : number > newest) advance(number)
      silentTicks = 0
      refusedTicks = 0
      failure = undefined
    } catch (error) {
      failure = error
    }
  }

  async function listen(): Promise<PostgresSession> {
    const opened = await PostgresSession.open(address, 'read')
    // Do not wait for the next tick: a restarting server may be back sooner.
    opened.onLost = () => {
      if (!isClosed) void poll()
    }
    await opened.listen(channel, (payload) => noteCommit(Number(payload)))
    return opened
  }

  function noteCommit(number: number): void {
    if (number > newest) advance(number)
  }

  function advance(number: number): void {
    newest = number
    version += 1
  }

  function throwIfSilent(): void {
    if (silentTicks < silentTicksMax && refusedTicks < refusedTicksMax) return
    const reason = failure instanceof Error ? failure.message : 'no reply'
    const detail = `${address.name} has not responded for ${silentTicks + refusedTicks} s, so cached data may be stale (${reason})`
    throw unavailable(detail)
  }

  await poll()
  return {
    version: () => {
      throwIfSilent()
      return version
    },
    /** The number of the newest commit that is known. */
    newestCommit: () => {
      throwIfSilent()
      return newest
    },
    /** Commits of this process are known at once. */
    noteOwnCommit: noteCommit,
    async close() {
      isClosed = true
      stop()
      await session?.close()
      await pendingQuery
      await session?.close()
    },
  }
}

export const commitsTable =
  'create table if not exists state_commits (writer text primary key, number bigint not null) with (fillfactor = 50)'
export const newestCommit = 'select max(number) as number from state_commits'
