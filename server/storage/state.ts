// The database interface. SQL is written once, in the subset that SQLite (3.24 and later) and PostgreSQL share: `?`
// placeholders, `on conflict`, `returning`, text, bigint and the types of `StateDialect`. A list is one value, a JSON array:
//
//   in (select value from json_each(?))                whole numbers
//   in (select atom from json_each(?))                 texts
//   from json_each(?) as k … k.value ->> 0 = column    lists of texts, such as keys of several columns
//
// `in (select value from NAME)` compares with a list that a `with NAME as (…)` computes. Each group has its own tables and
// queries.
//
// Rules of every engine. Each has a test that cites its number (state.test.ts).
//
// 1. `write` is one transaction: when its promise resolves, everything is durable; otherwise nothing happened. If the
//    connection was lost during a commit, the write is neither lost nor done twice: whether it was committed is decided
//    after the lost transaction has ended. If the server cannot be reached again, the fault says that the result is
//    unknown.
// 2. Writes with the same lock are serialized, in all processes; so are groups of one process. Other writes may run at the
//    same time: they see what has committed, statement by statement, and a row that they change stays locked until they
//    commit. A read never sees a transaction that has not committed.
// 3. `version` changes whenever any process commits, and the version of a group whenever its tables change. Commits of this
//    process are visible at once, those of others with the next turn of the event loop (SQLite) or within a second
//    (PostgreSQL). It throws if the database cannot be reached. So a cache that is keyed on it is never older. SQLite does
//    not distinguish the groups of a file.
// 4. A failed statement fails its transaction, even if the error is caught. Use `on conflict` instead
//    (behaviour/operations.md#database-interface).
// 5. Integers are returned as numbers. One beyond 2^53 is an error; store such values as text.
// 6. Items that are written together share one transaction. If it fails because of an item, each is written alone, so
//    that only those fail that cannot be written. If the database cannot be written, all of them fail.
// 7. The work of a write may run several times, because a connection may be lost, or because writes wait for each other in
//    a circle. Only the last run has an effect, so the work must not change anything outside its transaction; it returns
//    what it finds.
// 8. `recent` may be slightly behind `get` and `all`, but not behind what this process has written or noticed: a replica
//    is used only if it has replayed the WAL up to there. What a read of `get` or `all` has found may be newer. If a
//    result is combined with it, or cached under it, use `recent.snapshot`, which checks it in the same snapshot.
// 9. The character U+0000 in a text may be returned as U+FFFD, because PostgreSQL cannot store it. Store bytes as bytes.
//
// What the groups rely on when several servers share a database:
//
// 10. Numbers that writes assign under a lock, such as `max + 1` and revisions, are unique and become visible in order: a
//     reader that sees a number sees everything before it. Without a lock, only a number that a statement increments in a
//     row is.
// 11. A process reads its own writes: after a write has resolved, all its reads and all caches that are keyed on `version`
//     have the result. The same holds for commits of others once `version` has changed. It also holds after a failover.
// 12. After another process has taken over a lease, its former holder commits nothing under it, even if the transaction
//     had begun before: every write under a lease locks its row until the commit (server/ingest/lease.ts). Of several
//     processes that take over a lease at the same time, one gets it.
// 13. A check and the write that depends on it are not separated: an idempotency key makes one quote, on whichever servers
//     it is used at the same time, also while it expires. The key is inserted before the quote, so others wait for it
//     (server/fx/pricing/quotes.ts).
// 14. Once a rotation of the receipt key is committed, no quote is committed that the old key has signed: storing a quote
//     locks the key, so the rotation waits.
// 15. A revoked or rotated API key is refused by the process that changed it with the next call, and by other processes once
//     they notice the commit (3). Counting calls does not undo a change of a key.
// 16. Once a change of an override is committed, no quote is committed that was priced without it
//     (server/fx/pricing/overrides.ts).

import type { TableGroup } from './table-groups.ts'

export type Value = string | number | bigint | Uint8Array | null
export type Row = Record<string, Value>
/** Lists of values, in the order of some columns. */
export type Rows = readonly (readonly Value[])[]

export interface StateReader {
  /** The first row, if any. */
  get<R = Row>(sql: string, ...values: Value[]): Promise<R | undefined>
  all<R = Row>(sql: string, ...values: Value[]): Promise<R[]>
}

export interface StateWriter extends StateReader {
  /** Runs one statement and returns the number of changed rows. */
  run(sql: string, ...values: Value[]): Promise<number>
  /**
   * Inserts any number of rows and returns the number of changed rows. `end` is the end of the statement: a condition on
   * the rows, which are called `new`, and what to do on conflict. The rows must not conflict with each other.
   */
  insertMany(into: string, columns: readonly string[], rows: Rows, end?: string): Promise<number>
  /** Sets these columns of the rows with these keys. Rows have the values of the key first. */
  updateMany(table: string, key: readonly string[], columns: readonly string[], rows: Rows): Promise<number>
  /** Deletes the rows in which these columns have one of these lists of values. */
  deleteMany(from: string, key: readonly string[], rows: Rows): Promise<number>
}

export interface RecentReader extends StateReader {
  /**
   * Like `snapshot` of the database. A replica is used only if `isRecent` finds in the same snapshot what the caller has
   * seen.
   */
  snapshot<T>(
    isRecent: (reader: StateReader) => Promise<boolean>,
    work: (reader: StateReader) => Promise<T>,
    signal?: AbortSignal,
  ): Promise<T>
}

/** SQL that differs between the engines, for migrations. */
export interface StateDialect {
  readonly bytes: 'blob' | 'bytea'
  /** After the closing parenthesis of a table: strict types in SQLite. */
  readonly strict: 'strict' | ''
  /** The same for a table that is stored in the order of its primary key. */
  readonly clustered: 'strict, without rowid' | ''
}

/**
 * What must not be written by two transactions at the same time: the numbers that it assigns, or what it reads before it
 * writes. Every write of these tables names it (decisions/lock-only-what-a-write-names.md).
 */
export type LockName = 'duties' | 'keys' | 'labels' | 'markets' | 'registry' | 'schema' | 'settings' | `chain:${string}`

export interface WriteOptions {
  /** Waits for other writes with the same lock, of all processes. */
  readonly lock?: LockName
  /** Its statements may take hours, such as building an index. Others end after a time limit on PostgreSQL. */
  readonly isLong?: boolean
  /** Called each time the write has waited for its lock. Only PostgreSQL has locks. */
  readonly onLockWait?: (waitedMs: number) => void
}

/** Writes some items and returns a result for each of them, in order. */
export type GroupWrite<Item, Result> = (tx: StateWriter, items: readonly Item[]) => Promise<readonly Result[]>

export interface State extends StateReader {
  readonly engine: 'sqlite' | 'postgres'
  /** Rule 8: for queries that are slow or frequent. */
  readonly recent: RecentReader
  /** Whether `recent` may use another server. */
  readonly hasReplicas?: boolean
  write<T>(work: (tx: StateWriter) => Promise<T>, options?: WriteOptions): Promise<T>
  /**
   * Writes an item in one transaction with those of concurrent calls with the same function, for small and frequent
   * writes (decisions/share-one-commit-between-concurrent-quotes.md).
   */
  writeTogether<Item, Result>(write: GroupWrite<Item, Result>, item: Item): Promise<Result>
  /**
   * All reads of `work` see the same snapshot. It may run several times, because a connection may be lost. If the signal
   * aborts before the start, it does not start.
   */
  snapshot<T>(work: (reader: StateReader) => Promise<T>, signal?: AbortSignal): Promise<T>
  /** For results that may not fit in memory. */
  each<R = Row>(sql: string, ...values: Value[]): AsyncIterable<R>
  /** Of a group of tables, or of all of them. */
  version(group?: TableGroup): number
  close(): Promise<void>
}

export interface Migration {
  readonly id: number
  readonly name: string
  /** Statements, in order. */
  readonly up: (dialect: StateDialect) => readonly string[]
}
