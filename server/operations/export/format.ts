// Writes the rows of an export as CSV, as NDJSON or as Parquet, in chunks.
import { ByteWriter, ParquetWriter, type SchemaElement } from 'hyparquet-writer'
import { formatDate } from '#core/calendar.ts'
import { csvRow } from '#explorer/labels/lists/csv.ts'
import type { Cell, Column, ColumnType, Row } from './dataset.ts'

export type ExportFormat = 'parquet' | 'csv' | 'ndjson'

type Batches = AsyncIterable<readonly Row[]>
type Encoder = (columns: readonly Column[], batches: Batches) => AsyncIterable<string | Uint8Array>

export const encodeRows = (
  format: ExportFormat,
  columns: readonly Column[],
  batches: Batches,
): AsyncIterable<string | Uint8Array> => encoders[format](columns, batches)

// ------------------------------------------------------------------------------------------------------------------- text

/** Times and dates as ISO 8601 text. */
function toTextCell({ type }: Column, cell: Cell | undefined): Cell {
  if (typeof cell !== 'number') return cell ?? null
  if (type === 'time') return new Date(cell).toISOString()
  return type === 'date' ? formatDate(cell as never) : cell
}

async function* encodeCsv(columns: readonly Column[], batches: Batches): AsyncGenerator<string> {
  yield csvRow(columns.map(({ name }) => name))
  for await (const rows of batches)
    yield rows.map((row) => csvRow(columns.map((column, at) => String(toTextCell(column, row[at]) ?? '')))).join('')
}

async function* encodeNdjson(columns: readonly Column[], batches: Batches): AsyncGenerator<string> {
  for await (const rows of batches)
    yield rows
      .map((row) => {
        const cells = columns.map((column, at) => [column.name, toTextCell(column, row[at])])
        return `${JSON.stringify(Object.fromEntries(cells))}\n`
      })
      .join('')
}

// ---------------------------------------------------------------------------------------------------------------- Parquet

/** A row group is in memory until it is complete. It is complete with the first of these. */
const groupRows = 32_768
const groupTextLength = 16 * 1024 * 1024

const parquetTypes: Readonly<Record<ColumnType, Pick<SchemaElement, 'type' | 'converted_type'>>> = {
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  json: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  boolean: { type: 'BOOLEAN' },
  int32: { type: 'INT32' },
  int64: { type: 'INT64' },
  time: { type: 'INT64', converted_type: 'TIMESTAMP_MILLIS' },
  date: { type: 'INT32', converted_type: 'DATE' },
}

async function* encodeParquet(columns: readonly Column[], batches: Batches): AsyncGenerator<Uint8Array> {
  const bytes = new ByteWriter()
  const schema: SchemaElement[] = [
    { name: 'root', num_children: columns.length },
    ...columns.map(({ name, type, isNullable }): SchemaElement => {
      return { name, ...parquetTypes[type], repetition_type: isNullable ? 'OPTIONAL' : 'REQUIRED' }
    }),
  ]
  const writer = new ParquetWriter({ writer: bytes, schema })
  /** The offsets in the file go on; only the buffer is emptied. */
  const takeBytes = (): Uint8Array => {
    const taken = bytes.getBytes().slice()
    bytes.index = 0
    return taken
  }
  let group = columns.map((): unknown[] => [])
  let rowCount = 0
  let textLength = 0
  const writeGroup = (): Uint8Array => {
    const columnData = columns.map(({ name }, at) => ({ name, data: group[at] as unknown[] }))
    writer.write({ columnData, rowGroupSize: rowCount })
    group = columns.map(() => [])
    rowCount = 0
    textLength = 0
    return takeBytes()
  }
  for await (const rows of batches) {
    for (const row of rows) {
      for (const [at, { type }] of columns.entries()) {
        const cell = row[at] ?? null
        if (typeof cell === 'string') textLength += cell.length
        group[at]?.push(typeof cell === 'number' && parquetTypes[type].type === 'INT64' ? BigInt(cell) : cell)
      }
      rowCount += 1
      if (rowCount >= groupRows || textLength >= groupTextLength) yield writeGroup()
    }
  }
  if (rowCount > 0) yield writeGroup()
  writer.finish()
  yield takeBytes()
}

const encoders: Readonly<Record<ExportFormat, Encoder>> = {
  csv: encodeCsv,
  ndjson: encodeNdjson,
  parquet: encodeParquet,
}
