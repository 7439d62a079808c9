// The database interface on SQLite. How it keeps the guarantees of state.ts:
//
// 1. A transaction is `begin immediate … commit` on the only write connection, with synchronous = full: when `write`
//    resolves, the rows are on disk.
// 2. Reads use a separate connection, so that they see only committed data (behaviour/operations.md#sqlite-connections).
//    Each iteration has its own connection, because an unfinished statement would keep an old snapshot.
// 3. `version` is the data_version of the read connection, which changes with every commit of another connection. It is
//    read at most once per turn of the event loop and after each own commit, because many calls need it.
// 4. SQLite never waits inside a call. If the file is busy, the call is repeated between turns of the event loop.
//    For a file that several processes write in bulk, a connection leaves pauses for others (pauses.ts).
// 5. In a server, a thread copies the WALs of the files that requests write to these files (checkpointer.ts).
import { nextEventLoopTurn } from '#runtime/clock.ts'
import type { WorkerThread } from '#runtime/worker-thread.ts'
import { createGroupCommit } from '../group-commit.ts'
import { checkMigrations, type MigrationEngine, type UnmigratedStore } from '../migrate.ts'
import { createReaderPool } from '../reader-pool.ts'
import { readCurrent } from '../recent-reader.ts'
import type { Migration, Row, Rows, State, StateReader, StateWriter, Value } from '../state.ts'
import { runGuarded, type TransactionGuard } from '../transaction-guard.ts'
import { closedFault, createWriteQueue, iterationsMax, tooManyIterations } from '../write-queue.ts'
import { createCheckpointer, pagesMax } from './checkpointer.ts'
import { Connection, type ConnectionOptions } from './connection.ts'
import { renameSqlite } from './errors.ts'
import { Pauses } from './pauses.ts'
import { retryWhileBusy } from './retry-while-busy.ts'

const writesWaitingMax = 10_000
/** Concurrent snapshots, each with its own connection; others wait. */
const snapshotsMax = 4
const snapshotsWaitingMax = 1000
/** After this number of rows, an iteration yields to the event loop. */
const rowsPerYield = 250
/** The same for updating and deleting many rows. */
const changesPerYield = 100
/** Rows per insert statement, and statements until the next yield to the event loop. */
const rowsPerStatement = 50
const statementsPerYield = 2

const engine: MigrationEngine = {
  dialect: { bytes: 'blob', strict: 'strict', clustered: 'strict, without rowid' },
  findTableSql: "select 1 as found from sqlite_schema where type = 'table' and name = 'migrations'",
  /** Strict tables have only `integer`, with 64 bits (behaviour/operations.md#database-interface). */
  toSql: (statement) => statement.replaceAll(/\bbigint\b/gi, 'integer'),
}

export interface SqliteOptions extends ConnectionOptions {
  /** How long to retry while another process has locked the file. */
  readonly busyWaitMs: number
  /** Other processes also write the file, and this one may write it all the time (4). */
  readonly leavesPauses?: boolean
  /** For a process that handles requests meanwhile (5). */
  readonly checkpointThread?: WorkerThread | undefined
}

export async function openUnmigratedSqlite(
  file: string,
  migrations: readonly Migration[],
  options: SqliteOptions,
): Promise<UnmigratedStore> {
  const state = await openSqliteState(file, options)
  try {
    return await checkMigrations(state, file, migrations, engine)
  } catch (error) {
    await state.close()
    throw error
  }
}

async function openSqliteState(file: string, options: SqliteOptions): Promise<State> {
  using connections = new DisposableStack()
  /** Rule 4. */
  const whenFree = <T>(work: () => T) => retryWhileBusy(file, options.busyWaitMs, work)
  const openConnection = (purpose: 'read' | 'write') => whenFree(() => Connection.open(file, purpose, options))
  const writer = connections.adopt(await openConnection('write'), (connection) => connection.close())
  const reader = connections.adopt(await openConnection('read'), (connection) => connection.close())
  const { checkpointThread } = options
  if (checkpointThread) writer.setAutoCheckpoint(pagesMax)
  const checkpointer = checkpointThread && createCheckpointer(file, checkpointThread)
  const writeQueue = createWriteQueue(file, writesWaitingMax)
  const pauses = options.leavesPauses ? new Pauses() : undefined
  /** Opened at the first use. */
  const snapshots = Array.from({ length: snapshotsMax }, (): { connection?: Connection } => ({}))
  const snapshotPool = createReaderPool(file, snapshots, snapshotsWaitingMax)
  let iterations = 0
  /** Rule 3: read once per turn. */
  let version: number | undefined
  let isClosed = false

  function readConnection(): Connection {
    if (isClosed) throw closedFault(file)
    return reader
  }

  async function transact<T>(work: (tx: StateWriter) => Promise<T>): Promise<T> {
    await pauses?.beforeTransaction()
    await whenFree(() => writer.run('begin immediate'))
    try {
      const result = await runGuarded((guard) => createTransaction(writer, guard, file), work)
      await whenFree(() => writer.run('commit'))
      version = undefined
      checkpointer?.afterCommit(writer)
      return result
    } catch (error) {
      writer.rollback()
      throw error
    } finally {
      pauses?.afterTransaction()
    }
  }

  const opened = connections.move()
  const state: State = {
    engine: 'sqlite',
    ...connectionReader((read) => whenFree(() => read(readConnection()))),
    get recent() {
      return readCurrent(state)
    },
    async *each<R = Row>(sql: string, ...values: Value[]): AsyncGenerator<R> {
      if (iterations >= iterationsMax) throw tooManyIterations(file)
      iterations += 1
      let connection: Connection | undefined
      try {
        connection = await openConnection('read')
        let count = 0
        for (const row of connection.iterate<R>(sql, values)) {
          yield row
          count += 1
          if (count % rowsPerYield === 0) await nextEventLoopTurn()
        }
      } catch (error) {
        throw renameSqlite(error, file)
      } finally {
        iterations -= 1
        connection?.close()
      }
    },
    snapshot: (work, signal) =>
      snapshotPool.run(async (slot) => {
        slot.connection ??= await openConnection('read')
        const { connection } = slot
        connection.run('begin')
        try {
          return await work(connectionReader(async (read) => renamingErrors(file, () => read(connection))))
        } finally {
          connection.rollback()
        }
      }, signal),
    write: (work) => writeQueue.run(() => transact(work)),
    writeTogether: createGroupCommit(writeQueue, transact),
    version() {
      if (version === undefined) {
        version = renamingErrors(file, () => readConnection().dataVersion())
        void nextEventLoopTurn().then(() => {
          version = undefined
        })
      }
      return version
    },
    async close() {
      await Promise.all([writeQueue.close(), snapshotPool.close()])
      await checkpointer?.close()
      for (const { connection } of snapshots) connection?.close()
      isClosed = true
      opened.dispose()
      version = undefined
    },
  }
  return state
}

/** Reads rows on the connection that `use` chooses. */
const connectionReader = (use: <T>(read: (connection: Connection) => T) => Promise<T>): StateReader => ({
  get: <R = Row>(sql: string, ...values: Value[]) => use((connection) => connection.get<R>(sql, values)),
  all: <R = Row>(sql: string, ...values: Value[]) => use((connection) => connection.all<R>(sql, values)),
})

function renamingErrors<T>(file: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw renameSqlite(error, file)
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
  /** A prepared statement costs less than a list in SQL. */
  const runEach = async (sql: string, rows: Rows): Promise<number> => {
    let [changed, count] = [0, 0]
    for (const row of rows) {
      changed += run(() => connection.run(sql, row))
      count += 1
      if (count % changesPerYield === 0) await nextEventLoopTurn()
    }
    return changed
  }
  return {
    ...connectionReader(async (read) => run(() => read(connection))),
    run: async (sql, ...values) => run(() => connection.run(sql, values)),
    async insertMany(into, columns, rows, end = '') {
      const placeholders = `(${columns.map(() => '?').join(', ')})`
      const insertSql = (count: number) => {
        const values = `values ${new Array(count).fill(placeholders).join(', ')}`
        const list = columns.join(', ')
        return end.startsWith('where')
          ? `with new (${list}) as (${values}) insert into ${into} (${list}) select ${list} from new ${end}`
          : `insert into ${into} (${list}) ${values} ${end}`
      }
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
    updateMany: (table, key, columns, rows) => {
      const set = columns.map((column) => `${column} = ?`).join(', ')
      const inOrder = rows.map((row) => [...row.slice(key.length), ...row.slice(0, key.length)])
      return runEach(`update ${table} set ${set} where ${isSame(key)}`, inOrder)
    },
    deleteMany: (from, key, rows) => runEach(`delete from ${from} where ${isSame(key)}`, rows),
  }
}

const isSame = (key: readonly string[]): string => key.map((column) => `${column} = ?`).join(' and ')
