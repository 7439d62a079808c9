// The writers of a process on PostgreSQL: one for each lock, one for writes without a lock, and one for groups of writes.
//
// 1. A writer runs its transactions one after another. Those of different writers run at the same time, in connections of
//    their own, so that a long or blocked write of markets does not keep quotes waiting.
// 2. A transaction takes its lock together with `begin` and holds it until it has committed. So those with the same lock
//    are serialized, in all processes. PostgreSQL releases the lock after the commit is visible: the next holder sees it.
//    A process that dies or is suspended loses the lock with its connection.
// 3. A transaction also locks the id of its writer. If the connection is lost during a commit, the check whether it was
//    committed takes the same lock, so it waits until the lost transaction has ended. The last statement of a transaction
//    writes its number to `state_commits`. If the number is not there, the transaction is repeated.
// 4. A transaction that PostgreSQL aborts because of a deadlock or a conflict is repeated, at most `conflictsMax` times.
import { AsyncLocalStorage } from 'node:async_hooks'
import { hash } from 'node:crypto'
import { systemClock } from '#runtime/clock.ts'
import { systemRandom } from '#runtime/random.ts'
import { createGroupCommit } from '../group-commit.ts'
import type { GroupWrite, LockName, State, StateWriter, WriteOptions } from '../state.ts'
import type { TableGroup } from '../table-groups.ts'
import { runGuarded } from '../transaction-guard.ts'
import { closedFault, createWriteQueue, type WriteQueue } from '../write-queue.ts'
import type { PostgresAddress } from './address.ts'
import {
  addTimeline,
  commitsTable,
  dropOldCommits,
  type OwnCommit,
  primaryPosition,
  timelinesTable,
} from './commit-watch.ts'
import { inDoubt, isConflict, renamePostgres } from './errors.ts'
import { createOutageRetry } from './outage.ts'
import { PostgresSession } from './session.ts'
import { createTransaction } from './transaction.ts'

const writesWaitingMax = 2000
const conflictsMax = 10
/** Connections that are kept for the next transaction of any writer. */
const idleMax = 3

type WriterName = LockName | 'no lock' | 'groups'
type Work<T> = (tx: StateWriter) => Promise<T>

interface Writer {
  readonly queue: WriteQueue
  transact<T>(work: Work<T>, onLockWait?: WriteOptions['onLockWait']): Promise<T>
}

/** `onCommit` is called after each commit that has changed something. */
export function createWriters(address: PostgresAddress, waitMs: number, onCommit: (commit: OwnCommit) => void) {
  const processId = systemRandom.uuid()
  const retry = createOutageRetry(waitMs)
  const currentWrite = new AsyncLocalStorage<{ over: boolean }>()
  const writers = new Map<WriterName, Writer>()
  const sessions = new Set<PostgresSession>()
  const idle: PostgresSession[] = []
  let groups: State['writeTogether'] | undefined
  let schema = ''
  let isClosed = false

  async function openSession(): Promise<PostgresSession> {
    if (isClosed) throw closedFault(address.name)
    for (let known = idle.pop(); known; known = idle.pop()) {
      if (!known.lost && !known.shouldReplace) return known
      forget(known)
    }
    const session = await PostgresSession.open(address, 'write')
    sessions.add(session)
    return session
  }

  function release(session: PostgresSession): void {
    if (session.lost || isClosed || idle.length >= idleMax) forget(session)
    else idle.push(session)
  }

  function forget(session: PostgresSession): void {
    sessions.delete(session)
    void session.close()
  }

  async function use<T>(work: (session: PostgresSession) => Promise<T>): Promise<T> {
    const session = await openSession()
    try {
      return await work(session)
    } finally {
      release(session)
    }
  }

  /** Several installations may share a database, each in a schema of its own. */
  const lockKey = (name: string): string =>
    Buffer.from(hash('sha256', `tetrad ${schema} ${name}`, 'buffer'))
      .readBigInt64BE()
      .toString()

  function createWriter(name: WriterName): Writer {
    const id = `${processId} ${name}`
    const ownLock = `select pg_advisory_xact_lock(${lockKey(id)})`
    const lock = name === 'no lock' || name === 'groups' ? undefined : lockKey(name)
    /** Counted here, because a server after a failover may lack the last commits. */
    let number = 0

    async function begin(session: PostgresSession, onLockWait: WriteOptions['onLockWait']): Promise<void> {
      if (lock === undefined) return void (await session.begin('', ownLock))
      const tryLock = `select pg_try_advisory_xact_lock(${lock})::int as free`
      const row = await session.begin<{ free: number }>('', ownLock, tryLock)
      if (row?.free === 1) return
      const startMs = systemClock.monotonicMs()
      try {
        await session.script(`select pg_advisory_xact_lock(${lock})`)
      } finally {
        onLockWait?.(systemClock.monotonicMs() - startMs)
      }
    }

    /** Throws `ConnectionLost` if the connection was lost and nothing was committed. */
    const attempt = <T>(work: Work<T>, onLockWait: WriteOptions['onLockWait']): Promise<T> =>
      use(async (session) => {
        number += 1
        const changed = new Set<TableGroup>()
        let result: { readonly of: T } | undefined
        try {
          await begin(session, onLockWait)
          result = { of: await runGuarded((guard) => createTransaction(session, guard, changed), work) }
          await commit(session, changed)
          return result.of
        } catch (error) {
          if (!session.lost) await session.script('rollback').catch(() => {})
          else if (!result) throw session.lost
          else if (await wasCommitted(changed)) return result.of
          throw session.lost ?? error
        }
      })

    async function commit(session: PostgresSession, changed: ReadonlySet<TableGroup>): Promise<void> {
      if (changed.size === 0) return void (await session.script('commit'))
      const row = await session.script<{ lsn: number; server: string }>(
        `insert into state_commits (writer, group_name, number)
         select '${id}', name, ${number} from unnest(array['${[...changed].join("', '")}']) as name
         where pg_current_xact_id_if_assigned() is not null -- The effect of some statements is unknown.
         on conflict (writer, group_name) do update set number = excluded.number, at_us = excluded.at_us`,
        'commit',
        `select ${primaryPosition}`,
      )
      onCommit({ writer: id, groups: changed, number, lsn: row?.lsn ?? 0, server: row?.server ?? '' })
    }

    /** Rule 3. */
    async function wasCommitted(changed: ReadonlySet<TableGroup>): Promise<boolean> {
      const sql = `select number, ${primaryPosition} from state_commits where writer = '${id}' and number = ${number}`
      try {
        const row = await createOutageRetry(waitMs)(() =>
          use(async (session) => {
            const found = await session.begin<{ number?: number; lsn: number; server: string }>('', ownLock, sql)
            await session.script('rollback')
            return found
          }),
        )
        if (row?.number !== number) return false
        onCommit({ writer: id, groups: changed, number, lsn: row.lsn, server: row.server })
        return true
      } catch (error) {
        throw inDoubt(error, address.name)
      }
    }

    return {
      queue: createWriteQueue(address.name, writesWaitingMax, currentWrite),
      async transact(work, onLockWait) {
        for (let conflicts = 1; ; conflicts++) {
          try {
            return await retry(() => attempt(work, onLockWait))
          } catch (error) {
            if (!isConflict(error) || conflicts === conflictsMax) throw renamePostgres(error, address.name)
          }
        }
      },
    }
  }

  function writerOf(name: WriterName): Writer {
    if (isClosed) throw closedFault(address.name)
    return writers.getOrInsertComputed(name, createWriter)
  }

  return {
    async open(): Promise<void> {
      await use(async (session) => {
        const row = await session.readScript<{ schema: string | null }>('select current_schema()::text as schema')
        schema = row[0]?.schema ?? 'public'
        await session.begin('', `select pg_advisory_xact_lock(${lockKey('schema')})`)
        await session.script(commitsTable, timelinesTable, dropOldCommits, 'commit')
      })
    },
    /** Gives the timeline of the primary an id, unless it has one (commit-watch.ts, 6). */
    async nameTimeline(): Promise<void> {
      await use((session) => session.begin('', addTimeline(systemRandom.uuid()), 'commit'))
    },
    async write<T>(work: Work<T>, { lock, onLockWait }: WriteOptions = {}): Promise<T> {
      const { queue, transact } = writerOf(lock ?? 'no lock')
      return queue.run(() => transact(work, onLockWait))
    },
    async writeTogether<Item, Result>(write: GroupWrite<Item, Result>, item: Item): Promise<Result> {
      const { queue, transact } = writerOf('groups')
      groups ??= createGroupCommit(queue, (work) => transact(work))
      return groups(write, item)
    },
    /** Closes all connections, after the server was found dead. */
    drop(): void {
      for (const session of sessions) void session.close()
    },
    /** Accepts no more writes, and resolves when running writes are done. */
    async close(): Promise<void> {
      await Promise.all(Array.from(writers.values(), ({ queue }) => queue.close()))
      isClosed = true
      await Promise.all(Array.from(sessions, (session) => session.close()))
    },
  }
}
