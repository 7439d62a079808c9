// The port to columns over time: validator duties. Only additive measures are stored here; ratios are derived.
// Reads are plain selects with grouping and subqueries.
//
// 1. `write` is one commit over rows and the coverage that speaks of them. Inside it, reads see what it has brought.
// 2. Exactly one thread of one process opens the file; the engine refuses a second one.
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
  readonly engine: 'duckdb'
  /** 64-bit and wider integers arrive as numbers where exact and as bigints beyond 2^53, what is true or false as 1 or 0. */
  query<R = FactRow>(sql: string, values?: readonly Cell[], lists?: Lists): Promise<R[]>
}

/** The rows of one key, or those of them whose window column lies in [from, until). */
export interface Slice {
  readonly key: string
  readonly from?: number
  readonly until?: number
}

export interface FactsWriter extends FactsReader {
  /** All of a call's rows have the same key. */
  append(table: string, columns: Columns): Promise<void>
  remove(table: string, slice: Slice): Promise<void>
  run(sql: string, values?: readonly Cell[]): Promise<void>
}

export interface Facts extends FactsReader {
  /** For small questions of those who watch: they never wait behind what callers ask. */
  readonly aside: FactsReader
  /** Its questions that have not begun when the signal aborts never begin, and fail with the signal's reason. */
  now(signal?: AbortSignal): Promise<FactsReader>
  write<T>(work: (tx: FactsWriter) => Promise<T>): Promise<T>
  /** Grows with every write: what was read since it last did is still so. Undefined: other processes write as well. */
  version(): number | undefined
  close(): Promise<void>
}

/** By which column the rows of a table are removed. */
export interface FactsTable {
  readonly name: string
  readonly columns: Readonly<Record<string, 'text' | 'int32' | 'int64'>>
  /** A column of text. */
  readonly key: string
  /** A column of numbers. */
  readonly window?: { readonly column: string }
  /** Columns to add up where all others agree. */
  readonly sums?: readonly string[]
}

export interface FactsMigration {
  readonly id: number
  readonly name: string
  readonly up: readonly string[]
  /** Those of these tables whose rows are removed by slices. */
  readonly tables?: readonly FactsTable[]
}
