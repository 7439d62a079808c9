// A synchronous SQLite connection with its prepared statements. It throws SQLite errors unchanged; sqlite.ts handles them.
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { Fault } from '#core/fault.ts'
import type { Row, Value } from '../state.ts'

/** Then the oldest statements are removed. */
export const statementsMax = 500
/** The WAL file is truncated to this size after a large transaction. */
const walBytesKept = 64 * 1024 * 1024
/** 32 MiB. Pages that are written again before the next checkpoint are copied from the WAL only once. */
const bulkCheckpointPages = 8192
/** The inner pages of a table with 6 GB, so that a lookup reads one page of the file. SQLite's default is 2 MB. */
const bulkReadCacheKiB = 16 * 1024

export interface ConnectionOptions {
  /**
   * For a large database whose rows are written in bulk and soon replaced by others: fewer bytes are written to the
   * disk, and readers keep more pages in memory.
   */
  readonly isBulk?: boolean | undefined
}

export class Connection {
  readonly #db: DatabaseSync
  readonly #statements = new Map<string, Prepared>()
  readonly #dataVersion: StatementSync
  #walState: StatementSync | undefined

  static open(file: string, purpose: 'read' | 'write', { isBulk = false }: ConnectionOptions = {}): Connection {
    const db = new DatabaseSync(file, { enableForeignKeyConstraints: true, timeout: 0, defensive: true })
    try {
      db.exec('pragma trusted_schema = off')
      if (purpose === 'read') beginReading(db, isBulk)
      else beginWal(db, file, isBulk)
      return new Connection(db)
    } catch (error) {
      db.close()
      throw error
    }
  }

  constructor(db: DatabaseSync) {
    this.#db = db
    this.#dataVersion = db.prepare('pragma data_version')
  }

  get preparedCount(): number {
    return this.#statements.size
  }

  get<R>(sql: string, values: readonly Value[]): R | undefined {
    const { statement, rowOf } = this.#prepared(sql)
    const row = statement.get(...values)
    return row && (rowOf(row) as R)
  }

  all<R>(sql: string, values: readonly Value[]): R[] {
    const { statement, rowOf } = this.#prepared(sql)
    return statement.all(...values).map((row) => rowOf(row) as R)
  }

  *iterate<R>(sql: string, values: readonly Value[]): Generator<R, undefined> {
    const { statement, rowOf } = this.#prepared(sql)
    for (const row of statement.iterate(...values)) yield rowOf(row) as R
  }

  run(sql: string, values: readonly Value[] = []): number {
    return Number(this.#prepared(sql).statement.run(...values).changes)
  }

  /** After some errors, such as a full disk, SQLite has already rolled back. */
  rollback(): void {
    if (this.#db.isTransaction) this.#db.exec('rollback')
  }

  dataVersion(): number {
    return Number(this.#dataVersion.get()?.data_version)
  }

  /** Pages in the WAL that are not in the database file yet. */
  countWalPages(): number {
    this.#walState ??= this.#db.prepare('pragma wal_checkpoint(noop)')
    const { log, checkpointed } = this.#walState.get() ?? {}
    return Number(log) - Number(checkpointed)
  }

  /** Commits copy the WAL to the database file when it has this many pages. */
  setAutoCheckpoint(pages: number): void {
    this.#db.exec(`pragma wal_autocheckpoint = ${pages}`)
  }

  close(): void {
    this.#statements.clear()
    this.#db.close()
  }

  #prepared(sql: string): Prepared {
    const known = this.#statements.get(sql)
    if (known) return known
    const prepared = prepare(this.#db, sql)
    this.#statements.set(sql, prepared)
    const [oldest] = this.#statements.keys()
    if (this.#statements.size > statementsMax && oldest !== undefined) this.#statements.delete(oldest)
    return prepared
  }
}

interface Prepared {
  readonly statement: StatementSync
  /** Converts to plain objects. Rows of the driver have no prototype and are slow to copy. */
  readonly rowOf: (given: unknown) => Row
}

function prepare(db: DatabaseSync, sql: string): Prepared {
  const statement = db.prepare(sql)
  // The columns of `*` may change when another process migrates the file.
  if (sql.includes('*')) return { statement, rowOf: (given) => ({ ...(given as Row) }) }
  statement.setReturnArrays(true)
  const names = statement.columns().map(({ name }) => name)
  return { statement, rowOf: (given) => toRow(names, given as Value[]) }
}

function toRow(names: readonly string[], values: readonly Value[]): Row {
  const row: Row = {}
  for (let at = 0; at < names.length; at++) row[names[at] as string] = values[at] as Value
  return row
}

function beginReading(db: DatabaseSync, isBulk: boolean): void {
  db.exec('pragma query_only = on')
  if (isBulk) db.exec(`pragma cache_size = -${bulkReadCacheKiB}`)
}

function beginWal(db: DatabaseSync, file: string, isBulk: boolean): void {
  const mode = db.prepare('pragma journal_mode = wal').get()?.journal_mode
  if (mode !== 'wal') {
    const detail = `${file} is on a disk without shared memory between processes; use a local disk (mode: ${mode})`
    throw new Fault('store.unavailable', { detail })
  }
  db.exec(`pragma synchronous = full; pragma journal_size_limit = ${walBytesKept}`)
  // An insert of many rows keeps copies of the pages that it changes until it ends: in memory instead of a file.
  if (isBulk) db.exec(`pragma wal_autocheckpoint = ${bulkCheckpointPages}; pragma temp_store = memory`)
}
