// A limited pool of read connections.
//
// 1. A read whose connection is lost is repeated on another one until the time is up. This is safe, because these
//    connections are read-only.
// 2. If all connections are in use, reads wait in a queue. If the queue is full, they fail.
import { createReaderPool } from '../reader-pool.ts'
import type { PostgresAddress } from './address.ts'
import { explainPostgresError } from './errors.ts'
import { createOutageRetry } from './outage.ts'
import { PostgresSession, type Purpose, type TransactionMode } from './session.ts'

const waitingMax = 5000
const advice = 'raise store.stateConnections, or find the slow queries'

export type SessionPool = ReturnType<typeof createSessionPool>

/** `statementMs`: the limit of a statement (session.ts, 5). */
export function createSessionPool(
  address: PostgresAddress,
  purpose: Purpose,
  max: number,
  waitMs: number,
  statementMs?: number,
) {
  const outageRetry = createOutageRetry(waitMs)
  /** Connections are opened when they are needed. */
  const slots = Array.from({ length: max }, (): { session?: PostgresSession } => ({}))
  const pool = createReaderPool(address.name, slots, waitingMax, advice)

  const use = <T>(work: (session: PostgresSession) => Promise<T>): Promise<T> =>
    pool.run(async (slot) => {
      if (!slot.session || slot.session.lost || slot.session.shouldReplace) {
        void slot.session?.close()
        slot.session = await PostgresSession.open(address, purpose, statementMs)
      }
      return work(slot.session)
    })

  /** Without retries. With a mode, in a transaction. So are all reads through a pooler (session.ts, 4). */
  const runWithoutRetry = <T>(work: (session: PostgresSession) => Promise<T>, mode?: TransactionMode): Promise<T> =>
    use((session) =>
      mode === undefined && !session.isPooled ? work(session) : inTransaction(session, mode ?? '', work),
    )

  return {
    /** Without retries and without a transaction. */
    use,
    runWithoutRetry,
    /** Rule 1. */
    async read<T>(work: (session: PostgresSession) => Promise<T>, mode?: TransactionMode): Promise<T> {
      try {
        return await outageRetry(() => runWithoutRetry(work, mode))
      } catch (error) {
        throw explainPostgresError(error, address.name)
      }
    },
    /** Closes all connections, after the server was found dead. */
    dropConnections(): void {
      for (const { session } of slots) void session?.close()
    },
    /** Accepts no more reads, and resolves when running reads are done. */
    async close(): Promise<void> {
      await pool.close()
      await Promise.all(slots.map(({ session }) => session?.close()))
    },
  }
}

export async function inTransaction<T>(
  session: PostgresSession,
  mode: TransactionMode,
  work: (session: PostgresSession) => Promise<T>,
): Promise<T> {
  await session.begin(mode)
  try {
    return await work(session)
  } finally {
    // The result does not wait for it: the session runs its statements in order.
    if (!session.lost) void session.script('rollback').catch(() => {})
  }
}
