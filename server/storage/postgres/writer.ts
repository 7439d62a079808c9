// One writer of a process on PostgreSQL: it runs transactions one after another, those of one lock or those without a lock
// (writers.ts).
//
// 1. A transaction takes its lock together with `begin` and holds it until it has committed. So those with the same lock
//    are serialized, in all processes. PostgreSQL releases the lock after the commit is visible: the next holder sees it.
//    A process that dies or is suspended loses the lock with its connection.
// 2. A transaction also locks the id of its writer. If the connection is lost during a commit, the check whether it was
//    committed takes the same lock, so it waits until the lost transaction has ended. The last statement of a transaction
//    writes its number to `state_commits`. If the number is not there, the transaction is repeated.
//    A commit without a reply within the time limit of statements is not checked: its caller has waited long enough and gets
//    the fault that the result is unknown.
// 3. A transaction that PostgreSQL aborts because of a deadlock or a conflict is repeated, at most `conflictsMax` times.
import { systemClock } from '#runtime/clock.ts'
import type { StateWriter, WriteOptions } from '../state.ts'
import type { TableGroup } from '../table-groups.ts'
import { runGuarded } from '../transaction-guard.ts'
import { primaryPosition } from './commit-tables.ts'
import type { OwnCommit } from './commit-watch.ts'
import { explainPostgresError, inDoubt, isConflict, NoReply } from './errors.ts'
import { createOutageRetry, type OutageRetry } from './outage.ts'
import type { PostgresSession } from './session.ts'
import { createTransaction } from './transaction.ts'
import type { PrimaryPosition } from './wal-position.ts'
import type { WriteSessions } from './write-sessions.ts'

const conflictsMax = 10

export type Work<T> = (tx: StateWriter) => Promise<T>

export interface WriterParts {
  /** Of the database, in faults. */
  readonly databaseName: string
  readonly sessions: WriteSessions
  /** Shared by all writers of a process, so that they wait for the same outage. */
  readonly retry: OutageRetry
  readonly waitMs: number
  /** Called after each commit that has changed something. */
  readonly onCommit: (commit: OwnCommit) => void
}

export interface WriterLocks {
  /** The key of the lock of its id (2). */
  readonly own: string
  /** The key of the lock that its transactions share with those of other processes (1). */
  readonly shared: string | undefined
}

export class Writer {
  readonly #id: string
  readonly #locks: WriterLocks
  readonly #parts: WriterParts
  /** Of the last transaction. Counted here, because a server after a failover may lack the last commits. */
  #number = 0

  constructor(id: string, locks: WriterLocks, parts: WriterParts) {
    this.#id = id
    this.#locks = locks
    this.#parts = parts
  }

  /** Runs one transaction. The caller waits for it before the next one. */
  async transact<T>(work: Work<T>, options: WriteOptions = {}): Promise<T> {
    const { retry, databaseName } = this.#parts
    for (let conflicts = 1; ; conflicts++) {
      try {
        return await retry(() => this.#attempt(work, options))
      } catch (error) {
        if (!isConflict(error) || conflicts === conflictsMax) throw explainPostgresError(error, databaseName)
      }
    }
  }

  /** Throws `ConnectionLost` if the connection was lost and nothing was committed. */
  #attempt<T>(work: Work<T>, options: WriteOptions): Promise<T> {
    return this.#parts.sessions.use(async (session) => {
      this.#number += 1
      const changed = new Set<TableGroup>()
      let result: { readonly of: T } | undefined
      try {
        await this.#begin(session, options)
        if (options.isLong) await session.allowLongStatements()
        result = { of: await runGuarded((guard) => createTransaction(session, guard, changed), work) }
        await this.#commit(session, changed)
        return result.of
      } catch (error) {
        if (!session.lost) await session.script('rollback').catch(() => {})
        else if (!result) throw session.lost
        else if (session.lost instanceof NoReply) throw inDoubt(session.lost, this.#parts.databaseName)
        else if (await this.#wasCommitted(changed)) return result.of
        throw session.lost ?? error
      }
    })
  }

  async #begin(session: PostgresSession, { onLockWait }: WriteOptions): Promise<void> {
    const { own, shared } = this.#locks
    if (shared === undefined) return void (await session.begin('', lockSql(own)))
    const tryLock = `select pg_try_advisory_xact_lock(${shared})::int as free`
    const row = await session.begin<{ free: number }>('', lockSql(own), tryLock)
    if (row?.free === 1) return
    const startMs = systemClock.monotonicMs()
    try {
      await session.script(lockSql(shared))
    } finally {
      onLockWait?.(systemClock.monotonicMs() - startMs)
    }
  }

  async #commit(session: PostgresSession, changed: ReadonlySet<TableGroup>): Promise<void> {
    if (changed.size === 0) return void (await session.script('commit'))
    const position = await session.script<PrimaryPosition>(
      `insert into state_commits (writer, group_name, number)
       select '${this.#id}', name, ${this.#number} from unnest(array['${[...changed].join("', '")}']) as name
       where pg_current_xact_id_if_assigned() is not null -- The effect of some statements is unknown.
       on conflict (writer, group_name) do update set number = excluded.number, at_us = excluded.at_us`,
      'commit',
      `select ${primaryPosition}`,
    )
    this.#reportCommit(changed, position)
  }

  /** Rule 2. */
  async #wasCommitted(changed: ReadonlySet<TableGroup>): Promise<boolean> {
    const { sessions, waitMs, databaseName } = this.#parts
    const isStored = `writer = '${this.#id}' and number = ${this.#number}`
    const sql = `select number, ${primaryPosition} from state_commits where ${isStored}`
    try {
      const row = await createOutageRetry(waitMs)(() =>
        sessions.use(async (session) => {
          const found = await session.begin<PrimaryPosition & { number?: number }>('', lockSql(this.#locks.own), sql)
          await session.script('rollback')
          return found
        }),
      )
      // Without a row of the query, it is the row of the lock.
      if (row?.number !== this.#number) return false
      this.#reportCommit(changed, row)
      return true
    } catch (error) {
      throw inDoubt(error, databaseName)
    }
  }

  #reportCommit(groups: ReadonlySet<TableGroup>, position: PrimaryPosition | undefined): void {
    const { lsn, server } = position ?? { lsn: 0, server: '' }
    this.#parts.onCommit({ writer: this.#id, groups, number: this.#number, lsn, server })
  }
}

export const lockSql = (key: string): string => `select pg_advisory_xact_lock(${key})`
