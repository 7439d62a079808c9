// Values on their way into ClickHouse and out of it: literals in SQL, columns as its own blocks, answers as lines of text.
import { strict as assert } from 'node:assert'
import type { Cell, Columns, FactsTable } from '../facts.ts'

/** ClickHouse knows backslashes in text. Everything that is not whole and finite is written so that it comes back as it was. */
export function literal(cell: Cell): string {
  if (cell === null) return 'null'
  if (typeof cell === 'string')
    return `'${cell.replaceAll(/[\\'\0]/g, (sign) => (sign === '\0' ? '\\0' : `\\${sign}`))}'`
  if (typeof cell === 'bigint') return String(cell)
  assert(Number.isFinite(cell), `${cell} is no number that SQL could hold`)
  return Number.isInteger(cell) ? BigInt(cell).toString() : cell.toExponential()
}

/** Named columns of whole numbers and text, one line a row. */
export function rowsOf<R>(text: string): R[] {
  const lines = text.split('\n')
  const names = (lines[0] ?? '').split('\t').map(unescaped)
  const readers = (lines[1] ?? '').split('\t').map(readerOf)
  const rows: Record<string, Cell>[] = []
  for (let at = 2; at < lines.length - 1; at += 1) {
    const cells = (lines[at] as string).split('\t')
    const row: Record<string, Cell> = {}
    for (let column = 0; column < names.length; column += 1) {
      const cell = cells[column] as string
      row[names[column] as string] = cell === '\\N' ? null : (readers[column] as (cell: string) => Cell)(cell)
    }
    rows.push(row)
  }
  return rows as R[]
}

function readerOf(type: string): (cell: string) => Cell {
  const plain = /^Nullable\((.*)\)$/.exec(type)?.[1] ?? type
  if (/^U?Int(8|16|32)$/.test(plain)) return Number
  if (/^U?Int\d+$/.test(plain)) return exact
  if (/^Float/.test(plain)) return (cell) => (cell === 'nan' || cell === '-nan' ? null : Number(cell))
  return unescaped
}

function exact(cell: string): number | bigint {
  const number = Number(cell)
  return Number.isSafeInteger(number) ? number : BigInt(cell)
}

const signs: Readonly<Record<string, string>> = { b: '\b', f: '\f', r: '\r', n: '\n', t: '\t', 0: '\0' }
const unescaped = (cell: string): string =>
  cell.includes('\\') ? cell.replaceAll(/\\(.)/gs, (_, sign: string) => signs[sign] ?? sign) : cell

export const typeNames = { text: 'String', int32: 'Int32', int64: 'Int64' } as const

/** Every column of the table must be given; the order does not matter. Tells how many rows. */
export function checkColumns(table: FactsTable, columns: Columns): number {
  const names = Object.keys(table.columns)
  const isAll = [...Object.keys(columns)].sort().join() === [...names].sort().join()
  assert(isAll, `the columns appended to ${table.name} are not those of the table`)
  const count = columns[names[0] as string]?.length ?? 0
  for (const name of names)
    assert(columns[name]?.length === count, `${table.name}.${name} has ${columns[name]?.length} rows, not ${count}`)
  return count
}

/** Rows [from, until) as one block of the format Native: column after column, each as it lies in memory. */
export function blockOf(
  table: FactsTable,
  columns: Columns,
  batches: BigUint64Array,
  from: number,
  until: number,
): Buffer {
  const names = Object.keys(table.columns)
  const parts: Uint8Array[] = [varint(names.length + 1), varint(until - from)]
  for (const name of names) {
    const type = table.columns[name] as 'text' | 'int32' | 'int64'
    parts.push(text(name), text(typeNames[type]))
    const column = columns[name] as Columns[string]
    if (type === 'text') parts.push(textBytes(column as readonly string[], from, until))
    else parts.push(numberBytes(column as ArrayLike<number | bigint>, type, from, until, `${table.name}.${name}`))
  }
  parts.push(text('batch'), text('UInt64'), bytesOf(batches.subarray(from, until)))
  return Buffer.concat(parts)
}

function varint(value: number): Uint8Array {
  const bytes: number[] = []
  for (let left = value; ; left = Math.floor(left / 128)) {
    if (left < 128) return Uint8Array.from([...bytes, left])
    bytes.push((left % 128) + 128)
  }
}

function text(value: string): Uint8Array {
  const bytes = Buffer.from(value)
  return Buffer.concat([varint(bytes.length), bytes])
}

/** Most often the same word again and again. */
function textBytes(values: readonly string[], from: number, until: number): Uint8Array {
  let [last, bytes] = [values[from], text(values[from] ?? '')]
  const parts: Uint8Array[] = []
  for (let at = from; at < until; at += 1) {
    const value = values[at]
    if (value !== last) [last, bytes] = [value, text(value as string)]
    parts.push(bytes)
  }
  return Buffer.concat(parts)
}

const bytesOf = (array: Int32Array | BigUint64Array): Uint8Array =>
  new Uint8Array(array.buffer, array.byteOffset, array.byteLength)

const int64Min = -(2n ** 63n)
const int64Max = 2n ** 63n - 1n

/** A number that does not fit its column is refused, never wrapped. The low half of a wide number comes first. */
function numberBytes(
  values: ArrayLike<number | bigint>,
  type: 'int32' | 'int64',
  from: number,
  until: number,
  name: string,
): Uint8Array {
  if (type === 'int32' && values instanceof Int32Array) return bytesOf(values.subarray(from, until))
  const halves = type === 'int32' ? 1 : 2
  const items = new Int32Array((until - from) * halves)
  const wide = halves === 2 ? new DataView(items.buffer) : undefined
  for (let at = from; at < until; at += 1) {
    const value = values[at] as number | bigint
    const place = (at - from) * halves
    if (typeof value === 'number' && value === (value | 0)) {
      items[place] = value
      if (wide) items[place + 1] = value >> 31
      continue
    }
    const isWhole = typeof value === 'bigint' || Number.isSafeInteger(value)
    const fits = wide ? value >= int64Min && value <= int64Max : value >= -(2 ** 31) && value < 2 ** 31
    assert(typeof value !== 'string' && isWhole && fits, `${name} cannot hold ${value}`)
    if (wide) wide.setBigInt64(place * 4, BigInt(value), true)
    else items[place] = Number(value)
  }
  return bytesOf(items)
}
