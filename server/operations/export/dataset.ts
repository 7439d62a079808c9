// The datasets of `tetrad export`: their names and columns. docs/export.md describes every column.
//
// 1. Amounts and rates are text or whole numbers, never floating-point numbers.
// 2. Only a few batches are in memory at a time, however many rows a dataset has.
// 3. Rows of one table are read in one snapshot (tables.ts). Duties and markets are read in one snapshot per batch.
import { amounts, counts } from '#validators/method/measures.ts'

export type DatasetName = 'duties' | TableName
export type TableName = 'fundings' | 'labels' | 'markets' | 'quotes' | 'trades'

/** time: Unix milliseconds. date: days since 1970-01-01. json: the text of a JSON document. */
export type ColumnType = 'text' | 'json' | 'boolean' | 'int32' | 'int64' | 'time' | 'date'

export interface Column {
  readonly name: string
  readonly type: ColumnType
  readonly isNullable: boolean
}

/** A cell is in the form that the type of its column defines. */
export type Cell = string | number | boolean | null
export type Row = readonly Cell[]

export interface Batch {
  readonly rows: readonly Row[]
  /** Adds to `total`. */
  readonly done: number
}

export interface Dataset {
  readonly columns: readonly Column[]
  /** What `total` counts. */
  readonly unit: string
  /** Reads the whole range once, for a progress bar. */
  readonly total: () => Promise<number>
  readonly batches: () => AsyncIterable<Batch>
}

/** Half-open, in Unix milliseconds. */
export interface TimeRange {
  readonly fromMs: number
  readonly untilMs: number
}

/** One column per line: its name and its type. A question mark after the type allows null. */
const parseColumns = (text: string): Column[] =>
  text
    .trim()
    .split(/\s*\n\s*/)
    .map((line) => {
      const [name = '', type = ''] = line.split(/\s+/)
      return { name, type: type.replace('?', '') as ColumnType, isNullable: type.endsWith('?') }
    })

export const datasetColumns: Readonly<Record<DatasetName, readonly Column[]>> = {
  duties: [
    ...parseColumns(`network text
      date date
      epochs int32
      validator_index int32`),
    ...counts.map((name): Column => ({ name, type: 'int32', isNullable: true })),
    ...amounts.map((name): Column => ({ name: `${name}_gwei`, type: 'int64', isNullable: true })),
  ],
  fundings: parseColumns(`chain text
    address text
    block int64
    tx_index int32
    position int32
    time time
    funder text
    tx text
    value_wei text
    proven boolean`),
  labels: parseColumns(`kind text
    chain text
    address text?
    entity text?
    name text
    description text?
    notes text?
    source text?
    confidence int32?
    evidence_url text?
    updated_at time`),
  markets: parseColumns(`id text
    slug text
    question text?
    condition_id text?
    category text?
    active boolean?
    closed boolean?
    archived boolean?
    outcomes text?
    outcome_prices text?
    volume text?
    liquidity text?
    start_date time?
    end_date time?
    created_at time?
    updated_at time?
    modified_at time
    vanished_at time?
    document json`),
  quotes: parseColumns(`id text
    key_id text
    type text
    tenor text
    created_at time
    expires_at time
    rates_at time
    given_side text
    from_currency text
    from_amount text
    to_currency text
    to_amount text
    rate text
    fee text
    collateral text
    receipt json`),
  // Without signatures: whoever has one may be able to settle.
  trades: parseColumns(`id text
    key_id text
    status text
    address text
    accepted_at time
    maturity time
    updated_at time
    transaction_hash text?`),
}
