// Reads label records of a CSV file with their line numbers. An invalid row is a bad record, not a bad file.
import { type CsvRow, csvRows, detectSeparator } from '#core/csv.ts'
import type { RawRecord } from '../parse-record.ts'

/** `reason`: why there is no record. */
export interface ImportedRecord extends Omit<CsvRow, 'cells'> {
  readonly record: RawRecord | undefined
  /** Where the record begins in its line, from 1. Undefined: at the start. */
  readonly column?: number
  /** The name of the list, if the document has several. */
  readonly list?: string
}

export function readCsv(text: string): {
  readonly names: readonly string[]
  readonly records: Iterable<ImportedRecord>
} {
  const rows = csvRows(text, detectSeparator(text))
  const names = (rows.next().value?.cells ?? []).map((name) => name.trim())
  return { names, records: toImportedRecords(rows, names) }
}

function* toImportedRecords(rows: Iterable<CsvRow>, names: readonly string[]): Generator<ImportedRecord> {
  for (const { line, cells, raw, reason } of rows) {
    if (reason !== undefined) yield { line, record: undefined, reason, raw }
    else if (cells.length === 1 && cells[0] === '') continue
    else if (cells.length !== names.length) {
      const mismatch = `the row has ${cells.length} values, the header has ${names.length}`
      yield { line, record: undefined, reason: mismatch, raw }
    } else yield { line, record: Object.fromEntries(names.map((name, at) => [name, cells[at]])), raw }
  }
}
