// The datasets that are read from tables of the state: fundings, labels and quotes; and, in a file of its own, markets.
import type { Receipt } from '#api/contract/wire/fx-extensions.ts'
import { isProvenSql, toHex } from '#explorer/funding/fundings.ts'
import type { State, Row as StoredRow, Value } from '#storage/state.ts'
import {
  type Cell,
  type Column,
  type Dataset,
  datasetColumns,
  type Row,
  type TableName,
  type TimeRange,
} from './dataset.ts'
import { openMarkets } from './markets.ts'

/** One query of a dataset. */
interface Table {
  /** Named like the columns of the dataset, unless there is a `toRow`. */
  readonly select: string
  readonly from: string
  /** The column that --from and --until select by, and its unit. */
  readonly time: string
  readonly timeUnitMs: number
  readonly order: string
  readonly toRow?: (row: never) => Row
}

const rowsAtOnce = 1000

export function openTable(name: TableName, state: State, range: TimeRange): Dataset {
  if (name === 'markets') return openMarkets(state, range)
  const [columns, tables] = [datasetColumns[name], tablesOf[name]]
  const condition = ({ time }: Table) => `where ${time} >= ? and ${time} < ?`
  const bounds = ({ timeUnitMs }: Table): Value[] => [
    Math.ceil(range.fromMs / timeUnitMs),
    Math.ceil(range.untilMs / timeUnitMs),
  ]
  return {
    columns,
    unit: 'rows',
    total: async () => {
      let total = 0
      for (const table of tables) {
        const sql = `select count(*) as count from ${table.from} ${condition(table)}`
        total += (await state.get<{ count: number }>(sql, ...bounds(table)))?.count ?? 0
      }
      return total
    },
    batches: async function* () {
      for (const table of tables) {
        const sql = `select ${table.select} from ${table.from} ${condition(table)} order by ${table.order}`
        const toRow = table.toRow ?? ((row: StoredRow) => columns.map((column) => toCell(column, row)))
        let rows: Row[] = []
        for await (const row of state.each(sql, ...bounds(table))) {
          rows.push(toRow(row as never))
          if (rows.length < rowsAtOnce) continue
          yield { rows, done: rows.length }
          rows = []
        }
        yield { rows, done: rows.length }
      }
    },
  }
}

/** Addresses and hashes are stored as bytes, flags as numbers. */
function toCell({ name, type }: Column, row: StoredRow): Cell {
  // Entities and labels are in one file; each has columns that the other one lacks.
  const value = (name in row ? row[name] : undefined) ?? null
  if (value instanceof Uint8Array) return toHex(value)
  return type === 'boolean' ? value === 1 : (value as Cell)
}

const fundingsTable: Table = {
  select: `chain, address, block, tx_index, position, time_unix * 1000 as "time", funder, tx, value_wei, ${isProvenSql} as proven`,
  from: 'fundings',
  time: 'time_unix',
  timeUnitMs: 1000,
  order: 'chain, address',
}

const entitiesTable: Table = {
  select: `'entity' as kind, chain, slug as entity, name, nullif(description, '') as description,
    nullif(notes, '') as notes, updated_unix * 1000 as updated_at`,
  from: 'labels',
  time: 'updated_unix',
  timeUnitMs: 1000,
  order: 'chain, slug',
}

const taggedAddressesTable: Table = {
  select: `'address' as kind, chain, address, nullif(entity, '') as entity, name, source, confidence,
    nullif(evidence_url, '') as evidence_url, updated_unix * 1000 as updated_at`,
  from: 'tagged_addresses',
  time: 'updated_unix',
  timeUnitMs: 1000,
  order: 'chain, address, source',
}

interface QuoteRow {
  readonly id: string
  readonly key_id: string
  readonly created_ms: number
  readonly as_of_ms: number
  readonly priced_from: string
}

const quotesTable: Table = {
  select: 'id, key_id, created_ms, as_of_ms, priced_from',
  from: 'fx_quotes',
  time: 'created_ms',
  timeUnitMs: 1,
  order: 'created_ms, id',
  toRow: ({ id, key_id, created_ms, as_of_ms, priced_from }: QuoteRow) => {
    const { quote, givenSide } = JSON.parse(priced_from) as Receipt
    const { type, tenor, from, to, rate, fee, collateral } = quote
    return [
      ...[id, key_id, type, tenor, created_ms, Date.parse(quote.expiresAt), as_of_ms, givenSide],
      ...[from.currency, from.amount, to.currency, to.amount, rate, fee, collateral, priced_from],
    ]
  },
}

const tradesTable: Table = {
  select: `id, key_id, state as status, address, accepted_ms as accepted_at, deadline_ms as maturity,
    updated_ms as updated_at, tx_hash as transaction_hash`,
  from: 'fx_trades',
  time: 'accepted_ms',
  timeUnitMs: 1,
  order: 'accepted_ms, id',
}

const tablesOf: Readonly<Record<Exclude<TableName, 'markets'>, readonly Table[]>> = {
  fundings: [fundingsTable],
  labels: [entitiesTable, taggedAddressesTable],
  quotes: [quotesTable],
  trades: [tradesTable],
}
