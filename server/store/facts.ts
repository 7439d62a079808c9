// The port to columns over time: validator duties. Only additive measures are stored here; ratios are derived.
// Reads are SQL within what DuckDB and ClickHouse share: plain selects with grouping and subqueries, no CTEs, no windows; columns
// are named, since an engine may have more of its own; `or` between conditions stands in parentheses; no alias has the name of a column that something beside it adds up; where
// there is no row, ask `count(*)`, because a sum or a minimum of nothing is null in one engine and zero in the other.
//
// 1. `write` is one commit over rows and the coverage that speaks of them. Inside it, reads see what it has brought.
// 2. Of the embedded engine exactly one thread of one process opens the files; the engine refuses a second one. Of a shared engine any
//    number of processes read and write: a write that another one overtook fails, and nothing of it stays.
// 3. Long id lists are passed beside the SQL (`lists`), never inside its text: `… in (select id from {who})`.
// 4. A statement that fails dooms its transaction, also when its error is caught.
// 5. Rows are added, and removed by the slices that their table declares. Nothing is changed in place.

export type Cell = string | number | bigint | null
export type FactRow = Record<string, Cell>
/** Column name → values, all of the same length. */
export type Columns = Readonly<Record<string, ArrayLike<number | bigint> | readonly string[]>>
/** List name → distinct ids, offered to the query as a table with the one column `id`. */
export type Lists = Readonly<Record<string, readonly number[]>>

export interface FactsReader {
  readonly engine: 'duckdb' | 'clickhouse'
  /** 64-bit and wider integers arrive as numbers where exact and as bigints beyond 2^53, what is true or false as 1 or 0. */
  query<R = FactRow>(sql: string, values?: readonly Cell[], lists?: Lists): Promise<R[]>
}

/** Answers about one moment, as far as the engine can: on a shared engine all questions speak of the same commit. */
export interface FactsMoment extends FactsReader {
  /** Windows from here on may hold the rows of a table with `sums` in several parts; infinity: none does. */
  partsFrom(table: string, key: string): Promise<number>
}

/** The rows of one key, or those of them whose window lies in [from, until). */
export interface Slice {
  readonly key: string
  readonly from?: number
  readonly until?: number
}

export interface FactsWriter extends FactsReader {
  /** All of a call's rows have the same key. Where a table has `sums`, rows may come in several parts: readers add them up. */
  append(table: string, columns: Columns): Promise<void>
  remove(table: string, slice: Slice): Promise<void>
  /** Free SQL, where the engine has transactions: on `duckdb` alone. */
  run(sql: string, values?: readonly Cell[]): Promise<void>
}

export interface Facts extends FactsReader {
  /** For small questions of those who watch: they never wait behind what callers ask. */
  readonly aside: FactsReader
  /** Its questions that have not begun when the signal aborts never begin, and fail with the signal's reason. */
  now(signal?: AbortSignal): Promise<FactsMoment>
  write<T>(work: (tx: FactsWriter) => Promise<T>): Promise<T>
  /** Grows with every write: what was read since it last did is still so. Undefined: other processes write as well. */
  version(): number | undefined
  /** Adds up what came in parts and lets go of what nobody sees; now and then. No answer changes. */
  tidy(signal: AbortSignal): Promise<void>
  close(): Promise<void>
}

/** What an engine without DuckDB's words makes a table of, and what both know its slices by. */
export interface FactsTable {
  readonly name: string
  readonly columns: Readonly<Record<string, 'text' | 'int32' | 'int64'>>
  /** A column of text. */
  readonly key: string
  /** A column of numbers, of which `width` from each multiple of it on are a window; `together` windows lie in one place on disk. */
  readonly window?: { readonly column: string; readonly width: number; readonly together: number }
  /** After the key: how rows are found. */
  readonly order: readonly string[]
  /** Rows are spread over machines by this column. Without it each machine has all of them. */
  readonly spread?: string
  /** Columns to add up where all others agree. */
  readonly sums?: readonly string[]
}

export interface FactsMigration {
  readonly id: number
  readonly name: string
  /** In DuckDB's words. */
  readonly up: readonly string[]
  /** Those of these tables that other processes or other engines see. */
  readonly tables?: readonly FactsTable[]
}
