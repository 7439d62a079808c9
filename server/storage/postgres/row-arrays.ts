// Passes many rows to PostgreSQL as one array per column, in binary format, which is decoded without parsing text
// (decisions/pass-many-rows-as-arrays.md).
import type { Value } from '../state.ts'
import { storable } from './dialect.ts'

type Rows = readonly (readonly Value[])[]

/** Limits of one statement; further rows are in the next one. */
const rowsMax = 5000
const bytesMax = 8 * 1024 * 1024

const headerBytes = 20
const integerBytes = 8
const nullLength = -1

interface ArrayType {
  readonly name: 'text' | 'bigint' | 'bytea'
  /** Its id in PostgreSQL. */
  readonly oid: number
}

const types = {
  text: { name: 'text', oid: 25 },
  bigint: { name: 'bigint', oid: 20 },
  bytea: { name: 'bytea', oid: 17 },
} as const satisfies Record<string, ArrayType>

export interface RowArrays {
  /** For the `from` clause, with placeholders. */
  readonly unnested: string
  /** The columns in a `select`, in order. A column without values is `null`, because the type of its nulls is unknown. */
  readonly selected: readonly string[]
  readonly values: readonly Uint8Array[]
}

/** One entry per statement. `name` is the name of the rows in SQL. */
export function* toRowArrays(name: string, columns: readonly string[], rows: Rows): Generator<RowArrays, undefined> {
  for (const part of partsOf(rows)) {
    const arrays = columns.map((_, column) => encodeColumn(part, column))
    yield {
      unnested: `unnest(${arrays.map(({ type }) => `?::${type.name}[]`).join(', ')}) as ${name} (${columns.join(', ')})`,
      selected: columns.map((column, at) => (arrays[at]?.isNull ? 'null' : `${name}.${column}`)),
      values: arrays.map(({ bytes }) => bytes),
    }
  }
}

function* partsOf(rows: Rows): Generator<Rows, undefined> {
  let [from, bytes] = [0, 0]
  for (let at = 0; at < rows.length; at++) {
    bytes += (rows[at] ?? []).reduce<number>((sum, value) => sum + sizeOf(value), 0)
    if (at + 1 - from < rowsMax && bytes < bytesMax) continue
    yield rows.slice(from, at + 1)
    ;[from, bytes] = [at + 1, 0]
  }
  if (from < rows.length) yield rows.slice(from)
}

/** Without the length before it. */
const sizeOf = (value: Value): number =>
  value === null
    ? 0
    : typeof value === 'string'
      ? Buffer.byteLength(value)
      : value instanceof Uint8Array
        ? value.length
        : integerBytes

function encodeColumn(rows: Rows, column: number) {
  const cells = rows.map((row) => {
    const value = row[column] ?? null
    return typeof value === 'string' ? storable(value) : value
  })
  const sample = cells.find((value) => value !== null)
  const type = typeof sample === 'string' || sample === undefined ? types.text : typeOfBinary(sample)
  return { type, isNull: sample === undefined, bytes: encodeArray(type, cells) }
}

const typeOfBinary = (value: number | bigint | Uint8Array): ArrayType =>
  value instanceof Uint8Array ? types.bytea : types.bigint

/** An array of one dimension, whose first element has the number 1. */
function encodeArray({ name, oid }: ArrayType, cells: readonly Value[]): Buffer {
  const sizes = cells.map(sizeOf)
  const bytes = Buffer.allocUnsafe(headerBytes + sizes.reduce((sum, size) => sum + 4 + size, 0))
  const header = [1, cells.includes(null) ? 1 : 0, oid, cells.length, 1]
  header.forEach((number, index) => void bytes.writeInt32BE(number, index * 4))
  let at = headerBytes
  cells.forEach((value, index) => {
    const size = sizes[index] ?? 0
    at = bytes.writeInt32BE(value === null ? nullLength : size, at)
    if (typeof value === 'string') bytes.write(value, at)
    else if (value instanceof Uint8Array) bytes.set(value, at)
    else if (value !== null) bytes.writeBigInt64BE(BigInt(value), at)
    if (value !== null && name !== typeNameOf(value)) throw new TypeError(`a column has values of ${name} and others`)
    at += size
  })
  return bytes
}

const typeNameOf = (value: string | number | bigint | Uint8Array): ArrayType['name'] =>
  typeof value === 'string' ? 'text' : typeOfBinary(value).name
