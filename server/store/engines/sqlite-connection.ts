// One SQLite connection with its prepared statements. Everything here is synchronous and lets SQLite's errors through;
// sqlite.ts makes a store of it.
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { Fault } from '#core/fault.ts'
import type { Value } from '../state.ts'

/** Beyond this the least recently used go. */
export const statementsMax = 500
/** The journal is cut back to this after a large transaction. */
const walBytesKept = 64 * 1024 * 1024

export class Connection {
  readonly #db: DatabaseSync
  readonly #statements = new Map<string, StatementSync>()
  readonly #dataVersion: StatementSync

  static open(file: string, purpose: 'read' | 'write'): Connection {
    const db = new DatabaseSync(file, { enableForeignKeyConstraints: true, timeout: 0, defensive: true })
    try {
      db.exec('pragma trusted_schema = off')
      if (purpose === 'read') db.exec('pragma query_only = on')
      else beginWal(db, file)
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
    const row = this.#prepared(sql).get(...values)
    return row && ({ ...row } as R)
  }

  all<R>(sql: string, values: readonly Value[]): R[] {
    // Copied because the driver's rows have no prototype, unlike those of other engines.
    return this.#prepared(sql)
      .all(...values)
      .map((row) => ({ ...row }) as R)
  }

  *iterate<R>(sql: string, values: readonly Value[]): Generator<R, undefined> {
    for (const row of this.#prepared(sql).iterate(...values)) yield { ...row } as R
  }

  run(sql: string, values: readonly Value[] = []): number {
    return Number(this.#prepared(sql).run(...values).changes)
  }

  /** After some errors, a full disk among them, SQLite has rolled back by itself. */
  rollback(): void {
    if (this.#db.isTransaction) this.#db.exec('rollback')
  }

  /** False as well when SQLite has rolled back by itself. */
  get isTransaction(): boolean {
    return this.#db.isTransaction
  }

  dataVersion(): number {
    return Number(this.#dataVersion.get()?.data_version)
  }

  close(): void {
    this.#statements.clear()
    this.#db.close()
  }

  #prepared(sql: string): StatementSync {
    const known = this.#statements.get(sql)
    if (known) {
      this.#statements.delete(sql)
      this.#statements.set(sql, known)
      return known
    }
    const statement = this.#db.prepare(sql)
    this.#statements.set(sql, statement)
    const [oldest] = this.#statements.keys()
    if (this.#statements.size > statementsMax && oldest !== undefined) this.#statements.delete(oldest)
    return statement
  }
}

function beginWal(db: DatabaseSync, file: string): void {
  const mode = db.prepare('pragma journal_mode = wal').get()?.journal_mode
  if (mode !== 'wal') {
    const detail = `${file} is on a disk that cannot share memory between processes; use a local disk (mode: ${mode})`
    throw new Fault('store.unavailable', { detail })
  }
  db.exec(`pragma synchronous = full; pragma journal_size_limit = ${walBytesKept}`)
}
