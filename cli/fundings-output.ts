// Writes the rows of `tetrad fundings`, and continues a file that an interrupted run has left.
//
// 1. Rows are appended in the order of the input, a batch at a time, so the file is valid whenever the command stops.
// 2. A file is continued only if each of its rows is the next row of the input, for the same chain, columns and format.
//    A row that was cut off is removed.
import { open, stat } from 'node:fs/promises'
import { parseJson } from '#api/contract/json.ts'
import { csvRows } from '#core/csv.ts'
import { csvRow, spreadsheetRow } from '#explorer/labels/lists/csv.ts'
import { CommandFailure } from './failure.ts'
import { type AddedColumn, type AddressTable, addedColumns, type InputRow } from './fundings-input.ts'
import { writeStandardOutput } from './out-file.ts'

export type OutputFormat = 'csv' | 'ndjson'
export type AddedCells = Readonly<Partial<Record<AddedColumn, string | number>>> & { readonly status: string }

export interface RowFormat {
  readonly header: string
  row(input: InputRow, added: AddedCells): string
  /** What the row of this input begins with. */
  prefix(input: InputRow): string
  statusOf(row: string): string
}

/** `chain` is the first added column. */
export function rowFormatOf(format: OutputFormat, columns: readonly string[], chain: string, line = csvRow): RowFormat {
  if (format === 'csv')
    return {
      header: csvRow([...columns, ...addedColumns]),
      row: ({ cells }, added) =>
        line([...cells, ...addedColumns.map((name) => (name === 'chain' ? chain : (added[name] ?? '')))]),
      prefix: ({ cells }) => line([...cells, chain]).replace(/\r\n$/, ','),
      statusOf: (row) => csvRows(row).next().value?.cells[columns.length + addedColumns.indexOf('status')] ?? '',
    }
  const start = ({ cells }: InputRow) => [...columns.map((name, at) => [name, cells[at]]), ['chain', chain]]
  return {
    header: '',
    row: (input, added) => {
      const rest = addedColumns.slice(1).map((name) => [name, added[name] ?? null])
      return `${JSON.stringify(Object.fromEntries([...start(input), ...rest]))}\n`
    },
    prefix: (input) => `${JSON.stringify(Object.fromEntries(start(input))).slice(0, -1)},`,
    statusOf: (row) => String((parseJson(row) as { status?: unknown }).status),
  }
}

export const forSpreadsheets = spreadsheetRow

export interface Output extends AsyncDisposable {
  /** Statuses of the rows that an earlier run has written. */
  readonly written: readonly string[]
  append(text: string): Promise<void>
}

export async function openOutput(out: string, table: AddressTable, rows: RowFormat): Promise<Output> {
  if (out === '-') {
    const append = (text: string) => writeStandardOutput(single(text))
    await append(rows.header)
    return { written: [], append, [Symbol.asyncDispose]: async () => {} }
  }
  const found = await stat(out).catch(() => undefined)
  const file = await open(out, found && !found.isFile() ? 'w' : 'a+')
  try {
    const { written, end } = found?.isFile()
      ? await readWritten(out, file.createReadStream(streamOptions), table, rows)
      : nothing
    if (found?.isFile() && end < found.size) await file.truncate(end)
    if (end === 0) await file.appendFile(rows.header)
    return {
      written,
      append: (text) => file.appendFile(text),
      [Symbol.asyncDispose]: async () => {
        if (!found || found.isFile()) await file.sync()
        await file.close()
      },
    }
  } catch (error) {
    await file.close()
    throw error
  }
}

const streamOptions = { start: 0, autoClose: false }
const nothing = { written: [] as string[], end: 0 }

async function* single(text: string): AsyncGenerator<string> {
  yield text
}

/** `end`: where the last complete row ends. */
async function readWritten(
  out: string,
  chunks: AsyncIterable<Buffer>,
  table: AddressTable,
  rows: RowFormat,
): Promise<{ readonly written: string[]; readonly end: number }> {
  const written: string[] = []
  const inputs = table.rows()[Symbol.iterator]()
  let isHeader = rows.header !== ''
  let end = 0
  for await (const { text, end: recordEnd, isComplete } of readRecords(chunks, isHeader)) {
    const next = isHeader ? undefined : inputs.next()
    const expected = next === undefined ? rows.header : next.done ? undefined : rows.prefix(next.value)
    const isExpected =
      expected !== undefined && (text.startsWith(expected) || (!isComplete && expected.startsWith(text)))
    if (!isExpected) throw otherContent(out, isHeader ? 'Its first line' : `Row ${written.length + 1}`)
    if (!isComplete) break
    if (!isHeader) written.push(rows.statusOf(text))
    isHeader = false
    end = recordEnd
  }
  return { written, end }
}

const otherContent = (out: string, what: string): CommandFailure =>
  new CommandFailure(
    'fundings.output',
    `${out} was not written for this input and these options. ${what} differs. Choose another --out, or delete the file.`,
  )

const recordBytesMax = 1024 * 1024
const quote = 0x22
const newline = 0x0a

/** Lines with their end in the file. With `quoted`, a quoted cell may contain line ends. */
async function* readRecords(chunks: AsyncIterable<Buffer>, quoted: boolean) {
  let rest = Buffer.alloc(0)
  let restFrom = 0
  for await (const chunk of chunks) {
    const bytes = Buffer.concat([rest, chunk])
    let from = 0
    let inQuotes = false
    for (let at = 0; at < bytes.length; at++) {
      if (quoted && bytes[at] === quote) inQuotes = !inQuotes
      if (bytes[at] !== newline || inQuotes) continue
      yield { text: bytes.toString('utf8', from, at + 1), end: restFrom + at + 1, isComplete: true }
      from = at + 1
    }
    rest = bytes.subarray(from)
    restFrom += from
    if (rest.length > recordBytesMax) break
  }
  if (rest.length > 0) yield { text: rest.toString('utf8'), end: restFrom + rest.length, isComplete: false }
}
