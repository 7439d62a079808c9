// The port to columns over time: validator duties. Only additive measures are stored here; ratios are derived.
// SQL stays within what DuckDB and ClickHouse share: plain selects with grouping and subqueries, no CTEs, no windows.
//
// 1. `write` is one transaction over rows and the coverage that speaks of them.
// 2. Exactly one thread of one process opens the files; the engine refuses a second one.
// 3. Long id lists are passed beside the SQL (`lists`), never inside its text: `… in (select id from {who})`.
// 4. A statement that fails dooms its transaction, also when its error is caught.

export type Cell = string | number | bigint | boolean | null
export type FactRow = Record<string, Cell>
/** Column name → values, all of the same length. */
export type Columns = Readonly<Record<string, ArrayLike<number | bigint> | readonly string[]>>
/** List name → distinct ids, offered to the query as a table with the one column `id`. */
export type Lists = Readonly<Record<string, readonly number[]>>

export interface FactsReader {
  /** 64-bit and wider integers arrive as numbers where exact and as bigints beyond 2^53. */
  query<R = FactRow>(sql: string, values?: readonly Cell[], lists?: Lists): Promise<R[]>
}

export interface FactsWriter extends FactsReader {
  run(sql: string, values?: readonly Cell[]): Promise<void>
  /** Bulk append; far faster than inserts. */
  append(table: string, columns: Columns): Promise<void>
}

export interface Facts extends FactsReader {
  readonly engine: 'duckdb' | 'clickhouse'
  write<T>(work: (tx: FactsWriter) => Promise<T>): Promise<T>
  close(): Promise<void>
}

export interface FactsMigration {
  readonly id: number
  readonly name: string
  readonly up: readonly string[]
}
