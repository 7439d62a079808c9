// The port to transactional records: keys, usage, labels, fundings, quotes, rates, markets, validators, cursors.
// SQL is written once, in the subset that SQLite (3.24 and later) and PostgreSQL share: `?` placeholders, `on conflict`,
// `returning`, text, bigint and the column words below. Each group owns its tables and queries; an engine owns the files.
//
// 1. `write` is one transaction: all of it is durable when its promise resolves, or none of it happened. (Where a server in
//    between was lost and cannot be asked, it is a fault that says so.)
// 2. Writes run one after another, those of all processes; a read never sees a transaction that has not committed.
// 3. `version` changes whenever any process commits anything; our own commits are noticed at once, those of others from the
//    next turn of the event loop on when they share a file, and within a second when they share a server. When nobody can be
//    asked any more it throws. So a cache keyed on it is never older than that.
// 4. A statement that fails dooms its transaction, also when its error is caught (behaviour/operations.md#database-interface): try with `on conflict`.
// 5. Integers come back as numbers; one beyond 2^53 is an error, never a rounded number. Keep those as text.
// 6. Writes that go together share the wait for the disk and nothing else: the failure of one undoes only its own
//    statements. If the commit itself fails, all of them have failed.
// 7. The work of a write may run more than once, each time from the beginning, of which all but the last left nothing:
//    a connection may be lost in the middle. So it changes nothing outside of its transaction; what it finds out, it returns.
// 8. `recent` may be a moment behind `get` and `all`, but never behind what this process has written or heard of.
// 9. The character zero may come back from a text as U+FFFD: not every engine can hold it. Keep bytes as bytes.

export type Value = string | number | bigint | Uint8Array | null
export type Row = Record<string, Value>

export interface StateReader {
  /** The first row, if any. */
  get<R = Row>(sql: string, ...values: Value[]): Promise<R | undefined>
  all<R = Row>(sql: string, ...values: Value[]): Promise<R[]>
}

export interface StateWriter extends StateReader {
  /** Runs one statement and tells how many rows it changed. */
  run(sql: string, ...values: Value[]): Promise<number>
  /**
   * Adds rows, however many, and tells how many it changed. `onConflict` is how the statement ends; no two of the rows may
   * conflict with each other.
   */
  insertMany(
    into: string,
    columns: readonly string[],
    rows: readonly (readonly Value[])[],
    onConflict?: string,
  ): Promise<number>
}

/** How the engines spell the few column words they disagree on; migrations are written with them. */
export interface StateDialect {
  readonly bytes: 'blob' | 'bytea'
  /** Goes after the closing bracket of a table: SQLite's strict typing. */
  readonly strict: 'strict' | ''
  /** The same for a table whose primary key is its whole order. */
  readonly clustered: 'strict, without rowid' | ''
}

export interface WriteOptions {
  /** It may share a commit with others of its kind: for small writes that many callers make at once (decisions/share-one-commit-between-concurrent-quotes.md). */
  readonly together?: boolean
}

export interface State extends StateReader {
  readonly engine: 'sqlite' | 'postgres'
  /** Invariant 8: for single questions that take long or come often, and whose answer nothing else rests on. */
  readonly recent: StateReader
  write<T>(work: (tx: StateWriter) => Promise<T>, options?: WriteOptions): Promise<T>
  /**
   * All reads of `work` see the same moment. It may run more than once, from the beginning: a connection may be lost in the middle. If the
   * signal aborts before it has begun, it never begins.
   */
  snapshot<T>(work: (reader: StateReader) => Promise<T>, signal?: AbortSignal): Promise<T>
  /** One row at a time, for results that may not fit in memory. */
  each<R = Row>(sql: string, ...values: Value[]): AsyncIterable<R>
  version(): number
  close(): Promise<void>
}

export interface Migration {
  readonly id: number
  readonly name: string
  /** Statements, in order. */
  readonly up: (dialect: StateDialect) => readonly string[]
}
