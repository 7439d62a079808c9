// The database interface on SQLite. How it keeps the guarantees of state.ts:
//
// 1. A transaction is `begin immediate … commit` on the only write connection, with synchronous = full: when `write`
//    resolves, the rows are on disk.
// 2. Reads use a separate connection, so that they see only committed data (behaviour/operations.md#sqlite-connections).
//    Each iteration has its own connection, because an unfinished statement would keep an old snapshot.
// 3. `version` is the data_version of the read connection, which changes with every commit of another connection. It is
//    read at most once per turn of the event loop and after each own commit, because many calls need it.
// 4. SQLite never waits inside a call. If the file is busy, the call is repeated between turns of the event loop.
// 5. Writes with `together` are savepoints of one transaction and are resolved after its commit. A member that fails is
//    rolled back to its savepoint. If SQLite rolls back the whole transaction (full disk), all of them fail.
// 6. In a server, a thread copies the WAL to the database file (checkpointer.ts).
import { nextEventLoopTurn, systemClock } from '#runtime/clock.ts'
import { createGroupCommit, type GroupCommit, type QueuedWrite } from '../group-commit.ts'
import { type InspectedStore, inspectStore, type MigrationEngine, migrateStore } from '../migrate.ts'
import { ReaderPool } from '../reader-pool.ts'
import type { Migration, Row, State, StateReader, StateWriter, Value, WriteOptions } from '../state.ts'
import { runGuarded, type TransactionGuard } from '../transaction-guard.ts'
import { closedFault, iterationsMax, tooManyIterations, WriteQueue } from '../write-queue.ts'
import { Checkpointer, pagesMax } from './checkpointer.ts'
import { Connection, type ConnectionOptions } from './connection.ts'
import { isBusy, renameSqlite } from './errors.ts'

const writesWaitingMax = 10_000
/** Concurrent snapshots, each with its own connection; others wait. */
const snapshotsMax = 4
const snapshotsWaitingMax = 1000
/** After this number of rows, an iteration yields to the event loop. */
const rowsPerYield = 250
/** Rows per insert statement, and statements until the next yield to the event loop. */
const rowsPerStatement = 50
const statementsPerYield = 2
/** Short, because another process may release the lock for a few milliseconds only. */
const busyStepMs = 2

const engine: MigrationEngine = {
  dialect: { bytes: 'blob', strict: 'strict', clustered: 'strict, without rowid' },
  /** Strict tables have only `integer`, with 64 bits (behaviour/operations.md#database-interface). */
  toSql: (statement) => statement.replaceAll(/\bbigint\b/gi, 'integer'),
  run: (tx, sql) => tx.run(sql),
}

export interface SqliteOptions extends ConnectionOptions {
  /** How long to retry while another process has locked the file. */
  readonly busyWaitMs: number
  /** For a process that handles requests meanwhile (6). */
  readonly checkpointsOnThread?: boolean
}

export const openSqlite = async (...options: Parameters<typeof inspectSqlite>): Promise<State> =>
  migrateStore(await inspectSqlite(...options))

export async function inspectSqlite(
  file: string,
  migrations: readonly Migration[],
  options: SqliteOptions,
): Promise<InspectedStore> {
  const state = new SqliteState(file, options)
  try {
    await state.open()
    return await inspectStore(state, file, migrations, engine)
  } catch (error) {
    await state.close()
    throw error
  }
}

class SqliteState implements State {
  readonly engine = 'sqlite'
  readonly #file: string
  readonly #options: SqliteOptions
  readonly #writeQueue: WriteQueue
  readonly #groupCommit: GroupCommit
  #checkpointer: Checkpointer | undefined
  #writer: Connection | undefined
  #reader: Connection | undefined
  #iterations = 0
  /** Opened at the first use. */
  readonly #snapshots: { connection: Connection | undefined }[] = Array.from({ length: snapshotsMax }, () => ({
    connection: undefined,
  }))
  readonly #snapshotPool: ReaderPool<{ connection: Connection | undefined }>
  /** Invariant 3: read once per turn. */
  #version: number | undefined

  constructor(file: string, options: SqliteOptions) {
    this.#file = file
    this.#options = options
    this.#writeQueue = new WriteQueue(file, writesWaitingMax)
    this.#snapshotPool = new ReaderPool(file, this.#snapshots, snapshotsWaitingMax)
    this.#groupCommit = createGroupCommit(this.#writeQueue, (members) => this.#together(members))
  }

  async open(): Promise<void> {
    this.#writer = await this.#retryWhileBusy(() => Connection.open(this.#file, 'write', this.#options))
    this.#reader = await this.#retryWhileBusy(() => Connection.open(this.#file, 'read', this.#options))
    if (!this.#options.checkpointsOnThread) return
    this.#writer.setAutoCheckpoint(pagesMax)
    this.#checkpointer = new Checkpointer(this.#file)
  }

  get<R = Row>(sql: string, ...values: Value[]): Promise<R | undefined> {
    return this.#retryWhileBusy(() => this.#readConnection.get<R>(sql, values))
  }

  all<R = Row>(sql: string, ...values: Value[]): Promise<R[]> {
    return this.#retryWhileBusy(() => this.#readConnection.all<R>(sql, values))
  }

  get recent(): StateReader {
    return this
  }

  async *each<R = Row>(sql: string, ...values: Value[]): AsyncGenerator<R> {
    if (this.#iterations >= iterationsMax) throw tooManyIterations(this.#file)
    this.#iterations += 1
    let connection: Connection | undefined
    try {
      connection = await this.#retryWhileBusy(() => Connection.open(this.#file, 'read', this.#options))
      let count = 0
      for (const row of connection.iterate<R>(sql, values)) {
        yield row
        count += 1
        if (count % rowsPerYield === 0) await nextEventLoopTurn()
      }
    } catch (error) {
      throw renameSqlite(error, this.#file)
    } finally {
      this.#iterations -= 1
      connection?.close()
    }
  }

  snapshot<T>(work: (reader: StateReader) => Promise<T>, signal?: AbortSignal): Promise<T> {
    return this.#snapshotPool.run(async (slot) => {
      slot.connection ??= await this.#retryWhileBusy(() => Connection.open(this.#file, 'read', this.#options))
      const { connection } = slot
      connection.run('begin')
      try {
        return await work(createSnapshotReader(connection, this.#file))
      } finally {
        connection.rollback()
      }
    }, signal)
  }

  write<T>(work: (tx: StateWriter) => Promise<T>, { together = false }: WriteOptions = {}): Promise<T> {
    return together ? this.#groupCommit(work) : this.#writeQueue.run(() => this.#writeAlone(work))
  }

  async #writeAlone<T>(work: (tx: StateWriter) => Promise<T>): Promise<T> {
    const writer = await this.#begin()
    try {
      const result = await this.#run(writer, work)
      await this.#commit(writer)
      return result
    } catch (error) {
      writer.rollback()
      throw error
    }
  }

  /** Invariant 5. */
  async #together(members: readonly QueuedWrite[]): Promise<void> {
    const writer = await this.#begin()
    const callbacks: (() => void)[] = []
    try {
      for (const member of members) callbacks.push(await this.#inSavepoint(writer, member))
      await this.#commit(writer)
    } catch (error) {
      writer.rollback()
      throw error
    }
    for (const callback of callbacks) callback()
  }

  /** Returns the callback that settles the member after the commit. Throws if the whole transaction was rolled back. */
  async #inSavepoint(writer: Connection, { work, resolve, reject }: QueuedWrite): Promise<() => void> {
    writer.run('savepoint member')
    try {
      const result = await this.#run(writer, work)
      writer.run('release member')
      return () => resolve(result as never)
    } catch (error) {
      if (!writer.isTransaction) throw error
      writer.run('rollback to member')
      writer.run('release member')
      return () => reject(error)
    }
  }

  #run<T>(writer: Connection, work: (tx: StateWriter) => Promise<T>): Promise<T> {
    return runGuarded((guard) => createTransaction(writer, guard, this.#file), work)
  }

  async #begin(): Promise<Connection> {
    const writer = this.#writer
    if (!writer) throw closedFault(this.#file)
    await this.#retryWhileBusy(() => writer.run('begin immediate'))
    return writer
  }

  async #commit(writer: Connection): Promise<void> {
    await this.#retryWhileBusy(() => writer.run('commit'))
    this.#forgetVersion()
    this.#checkpointer?.afterCommit(writer)
  }

  version(): number {
    if (this.#version === undefined) {
      try {
        this.#version = this.#readConnection.dataVersion()
      } catch (error) {
        throw renameSqlite(error, this.#file)
      }
      void nextEventLoopTurn().then(() => this.#forgetVersion())
    }
    return this.#version
  }

  #forgetVersion(): void {
    this.#version = undefined
  }

  async close(): Promise<void> {
    await Promise.all([this.#writeQueue.close(), this.#snapshotPool.close()])
    await this.#checkpointer?.close()
    for (const slot of this.#snapshots) slot.connection?.close()
    this.#reader?.close()
    this.#writer?.close()
    this.#reader = undefined
    this.#writer = undefined
    this.#forgetVersion()
  }

  get #readConnection(): Connection {
    if (!this.#reader) throw closedFault(this.#file)
    return this.#reader
  }

  /** Repeats `work` while another process has locked the file, until the time is up. */
  async #retryWhileBusy<T>(work: () => T): Promise<T> {
    let untilMs: number | undefined
    for (;;) {
      try {
        return work()
      } catch (error) {
        untilMs ??= systemClock.monotonicMs() + this.#options.busyWaitMs
        if (!isBusy(error) || systemClock.monotonicMs() >= untilMs) throw renameSqlite(error, this.#file)
      }
      await systemClock.sleep(busyStepMs)
    }
  }
}

function createSnapshotReader(connection: Connection, file: string): StateReader {
  const read = <T>(work: () => T): T => {
    try {
      return work()
    } catch (error) {
      throw renameSqlite(error, file)
    }
  }
  return {
    get: async <R>(sql: string, ...values: Value[]) => read(() => connection.get<R>(sql, values)),
    all: async <R>(sql: string, ...values: Value[]) => read(() => connection.all<R>(sql, values)),
  }
}

function createTransaction(connection: Connection, guard: TransactionGuard, file: string): StateWriter {
  const run = <T>(work: () => T): T => {
    guard.checkOpen()
    try {
      return work()
    } catch (error) {
      throw guard.markFailed(renameSqlite(error, file))
    }
  }
  return {
    get: async <R>(sql: string, ...values: Value[]) => run(() => connection.get<R>(sql, values)),
    all: async <R>(sql: string, ...values: Value[]) => run(() => connection.all<R>(sql, values)),
    run: async (sql, ...values) => run(() => connection.run(sql, values)),
    async insertMany(into, columns, rows, onConflict = '') {
      const placeholders = `(${columns.map(() => '?').join(', ')})`
      const insertSql = (count: number) =>
        `insert into ${into} (${columns.join(', ')}) values ${new Array(count).fill(placeholders).join(', ')} ${onConflict}`
      const batchedRows = rows.length - (rows.length % rowsPerStatement)
      const [batchSql, rowSql] = [insertSql(rowsPerStatement), insertSql(1)]
      let changed = 0
      for (let at = 0; at < batchedRows; at += rowsPerStatement) {
        changed += run(() => connection.run(batchSql, rows.slice(at, at + rowsPerStatement).flat()))
        // Other requests are handled during long inserts.
        if ((at / rowsPerStatement) % statementsPerYield === statementsPerYield - 1) await nextEventLoopTurn()
      }
      for (const row of rows.slice(batchedRows)) changed += run(() => connection.run(rowSql, row))
      return changed
    },
  }
}
