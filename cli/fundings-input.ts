// Reads the addresses of `tetrad fundings`: one for each line, or a CSV file with a column `address`. Other columns are
// kept for the output.
import { type CsvRow, csvRows } from '#core/csv.ts'
import { CommandFailure } from './failure.ts'

/** What the command adds to the columns of the input. */
export const addedColumns = [
  ...['chain', 'status', 'block', 'time', 'funder', 'tx', 'value_wei', 'value'],
  ...['entity', 'label', 'finality', 'reason'],
] as const
export type AddedColumn = (typeof addedColumns)[number]

export interface InputRow {
  /** As in the file, without outer spaces. */
  readonly address: string
  /** The kept columns. */
  readonly cells: readonly string[]
}

export interface AddressTable {
  /** Names of the columns that are kept, `address` among them. */
  readonly columns: readonly string[]
  readonly count: number
  /** The rows in the order of the file. */
  rows(): Iterable<InputRow>
}

/**
 * Checks the whole file first. Columns that the command writes itself are left out, so that an output can be an input.
 * Their chain must be the chain of the command.
 */
export function readAddressTable(file: string, text: string, chain: string): AddressTable {
  const first = csvRows(text).next().value
  const names = (first?.cells ?? []).map((name) => name.trim())
  const named = names.findIndex((name) => name.toLowerCase() === 'address')
  const hasHeader = named >= 0
  if (!hasHeader && names.length > 1)
    throw inputFailure(
      `${file} has ${names.length} columns, and none of them is named address. Name one in its first line.`,
    )
  const table = hasHeader ? names : ['address']
  const at = Math.max(0, named)
  const kept = table.flatMap((name, column) => (addedColumns.includes(name as AddedColumn) ? [] : [column]))
  const chainAt = table.indexOf('chain')
  const check = (row: CsvRow): void => {
    const problem = findProblem(row, table.length, chainAt, chain)
    if (problem !== undefined) throw inputFailure(`${file}, line ${row.line}: ${problem}`)
  }
  let count = 0
  for (const row of dataRows(text, hasHeader)) {
    check(row)
    count += 1
  }
  if (count === 0) throw inputFailure(`${file} has no addresses.`)
  return {
    columns: kept.map((column) => table[column] as string),
    count,
    *rows() {
      for (const { cells } of dataRows(text, hasHeader))
        yield { address: (cells[at] ?? '').trim(), cells: kept.map((column) => cells[column] ?? '') }
    },
  }
}

/** Without empty lines. */
function* dataRows(text: string, hasHeader: boolean): Generator<CsvRow> {
  const rows = csvRows(text)
  if (hasHeader) rows.next()
  for (const row of rows) if (row.raw.trim() !== '') yield row
}

function findProblem(row: CsvRow, width: number, chainAt: number, chain: string): string | undefined {
  if (row.reason !== undefined) return `${row.reason}.`
  if (row.cells.length !== width) return `the row has ${row.cells.length} values, the first line has ${width}.`
  const own = chainAt < 0 ? chain : (row.cells[chainAt] ?? '').trim()
  return own === chain ? undefined : `the address is of chain ${own}. Pass --chain ${own}, or split the file by chain.`
}

const inputFailure = (message: string): CommandFailure => new CommandFailure('fundings.input', message)
