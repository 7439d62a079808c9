// Values on their way into DuckDB and out of it.
import { strict as assert } from 'node:assert'
import {
  BIGINT,
  BIT,
  DOUBLE,
  type DuckDBAppender,
  DuckDBBitValue,
  type DuckDBConnection,
  DuckDBDataChunk,
  DuckDBDecimalValue,
  type DuckDBType,
  DuckDBTypeId,
  type DuckDBValue,
  HUGEINT,
  SQLNULL,
  VARCHAR,
} from '@duckdb/node-api'
import { nextTurn } from '#io/clock.ts'
import type { Cell, Columns, Lists } from '../facts.ts'

export interface Bound {
  readonly sql: string
  readonly values: DuckDBValue[]
  readonly types: DuckDBType[]
}

const int64Max = 2n ** 63n - 1n
const chunkRows = 2048
/** A million rows take a second or more: whoever waits for an answer gets a turn in between. */
const rowsPerTurn = 4 * chunkRows

/** Quoted text, a placeholder, a column held against a list, or the name of a list. */
const marks = /'(?:[^']|'')*'|\?|\b(\w+) in \(select id from \{(\w+)\}\)|\{(\w+)\}/g

/** Lists become parameters, and all parameters come into the order of their places. */
export function bind(sql: string, values: readonly Cell[], lists: Lists): Bound {
  const typed: Typed[] = []
  let used = 0
  const idsOf = (list: string) => {
    const ids = lists[list]
    assert(ids, `the list {${list}} of the query is missing`)
    return ids
  }
  const text = sql.replaceAll(marks, (mark, column?: string, members?: string, list?: string) => {
    if (mark === '?') {
      const value = values[used++]
      assert(value !== undefined, `parameter ${used} of the query is missing`)
      typed.push(toTyped(value))
    } else if (column !== undefined && members !== undefined) {
      const ids = idsOf(members)
      const near = memberSql(column, ids)
      if (near) typed.push(near.bits)
      if (near && ids.length > shortListMax) return near.sql
      typed.push(toTyped(ids.join(',')))
      return `(${near ? `${near.sql} and ` : ''}${column} in (select id from ${listSql}))`
    } else if (list !== undefined) {
      typed.push(toTyped(idsOf(list).join(',')))
      return listSql
    }
    return mark
  })
  assert(used === values.length, `the query has ${used} parameters, ${values.length} were given`)
  return { sql: text, values: typed.map(({ value }) => value), types: typed.map(({ type }) => type) }
}

// An empty text would split into one empty piece, which is no number.
const listSql = `(select unnest(string_split(nullif(?, ''), ',')::bigint[]) as id)`

/** Of so few ids the join's list keeps most row groups from being read at all; of more, it costs and saves nothing. */
export const shortListMax = 500

/** The engine copies the bits for every 2048 rows: few ids far apart are found faster by a join (decision 0159). */
const bitsMax = 2 ** 22
const bitsPerIdMax = 1024

/**
 * Ids that lie near each other, as validators' do, are one bit each. DuckDB looks the bit up while it scans and skips what
 * else a row has; a join would carry every column along first (decision 0120). The bounds let it skip row groups.
 */
function memberSql(column: string, ids: readonly number[]): { sql: string; bits: Typed } | undefined {
  const low = ids.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY)
  const high = ids.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY)
  if (ids.length === 0 || high - low >= Math.min(bitsMax, bitsPerIdMax * ids.length)) return undefined
  // Whole bytes, so that none is padding; the first one says so.
  const data = new Uint8Array(1 + Math.ceil((high - low + 1) / 8))
  for (const id of ids) {
    const at = 1 + ((id - low) >> 3)
    data[at] = (data[at] as number) | (0x80 >> ((id - low) & 7))
  }
  const value = new DuckDBBitValue(data)
  const bounds = `${column} >= ${low} and ${column} <= ${high}`
  // An index outside the bits would be an error, and conditions may be tried in any order.
  const bit = `case when ${bounds} then get_bit(?, cast(${column} - ${low} as integer)) else 0 end = 1`
  return { sql: `(${bounds} and ${bit})`, bits: { value, type: BIT } }
}

interface Typed {
  readonly value: DuckDBValue
  readonly type: DuckDBType
}

function toTyped(cell: Cell): Typed {
  switch (typeof cell) {
    case 'string':
      return { value: cell, type: VARCHAR }
    case 'bigint':
      return { value: cell, type: cell <= int64Max && cell >= -int64Max ? BIGINT : HUGEINT }
    case 'number':
      // A whole number compared as a double would keep DuckDB from skipping row groups.
      return Number.isSafeInteger(cell) ? { value: BigInt(cell), type: BIGINT } : { value: cell, type: DOUBLE }
    default:
      return { value: null, type: SQLNULL }
  }
}

export function rowsOf<R>(columns: readonly (readonly DuckDBValue[])[], names: readonly string[]): R[] {
  const count = columns[0]?.length ?? 0
  const rows: Record<string, Cell>[] = Array.from({ length: count }, () => ({}))
  names.forEach((name, index) => {
    const column = columns[index] ?? []
    for (let at = 0; at < count; at += 1) (rows[at] as Record<string, Cell>)[name] = toCell(column[at] ?? null)
  })
  return rows as R[]
}

function toCell(value: DuckDBValue): Cell {
  if (typeof value === 'bigint') return toNumberIfExact(value)
  if (typeof value === 'boolean') return Number(value)
  if (value === null || typeof value !== 'object') return value
  if (value instanceof DuckDBDecimalValue) return value.scale === 0 ? toNumberIfExact(value.value) : value.toDouble()
  return String(value)
}

const toNumberIfExact = (value: bigint): number | bigint => {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : value
}

/** Every column of the table must be given; the order does not matter. */
export async function appendColumns(
  connection: DuckDBConnection,
  catalog: string,
  table: string,
  columns: Columns,
): Promise<void> {
  const names = (await connection.run(`from ${table} limit 0`)).columnNames()
  const given = Object.keys(columns)
  assert.deepEqual([...given].sort(), [...names].sort(), `the columns appended to ${table} are not those of the table`)
  const rowCount = columns[names[0] as string]?.length ?? 0
  for (const name of names) {
    assert(columns[name]?.length === rowCount, `${table}.${name} has ${columns[name]?.length} rows, not ${rowCount}`)
  }
  const appender = await connection.createAppender(table, null, catalog)
  try {
    const types = names.map((_, index) => appender.columnType(index))
    for (let from = 0; from < rowCount; from += chunkRows) {
      if (from > 0 && from % rowsPerTurn === 0) {
        // What is appended goes into the table in large portions otherwise, each a wait of its own.
        appender.flushSync()
        await nextTurn()
      }
      const until = Math.min(from + chunkRows, rowCount)
      const chunk = DuckDBDataChunk.create(types, until - from)
      names.forEach((name, index) => {
        const column = columns[name] ?? []
        const type = types[index] as DuckDBType
        if (fillNumbers(chunk, index, type, column, from, `${table}.${name}`)) return
        const convert = converterFor(type, `${table}.${name}`)
        chunk.setColumnValues(
          index,
          Array.from({ length: until - from }, (_, at) => convert(column[from + at] as Given)),
        )
      })
      appender.appendDataChunk(chunk)
    }
    appender.flushSync()
  } catch (error) {
    closeQuietly(appender)
    throw error
  }
  appender.closeSync()
}

/** A vector whose values lie in one array, which is copied as a whole. */
interface NumberVector {
  readonly items: Int32Array | BigInt64Array
  flush(): void
}

/**
 * Columns of whole numbers in typed arrays, by far the most there is to append: written into the vector's own memory, five
 * times faster than value by value. False: not such a column.
 */
function fillNumbers(
  chunk: DuckDBDataChunk,
  index: number,
  type: DuckDBType,
  column: Columns[string],
  from: number,
  name: string,
): boolean {
  const isWide = type.typeId === DuckDBTypeId.BIGINT
  if (!(column instanceof Int32Array || column instanceof Float64Array)) return false
  if (!isWide && type.typeId !== DuckDBTypeId.INTEGER) return false
  const vector = chunk.getColumnVector(index) as unknown as NumberVector
  const { items } = vector
  const low = new Int32Array(items.buffer, items.byteOffset, items.length * (isWide ? 2 : 1))
  for (let at = 0; at < items.length; at++) {
    const value = column[from + at] as number
    if (value === (value | 0)) {
      if (isWide) {
        low[2 * at] = value
        low[2 * at + 1] = value >> 31
      } else low[at] = value
      continue
    }
    assert(isWide && Number.isSafeInteger(value), `${name} cannot hold ${value}`)
    const high = Math.floor(value / 2 ** 32)
    low[2 * at] = value - high * 2 ** 32
    low[2 * at + 1] = high
  }
  vector.flush()
  return true
}

/** Closing tries to flush again what could not be flushed, and its error would hide the first one. */
function closeQuietly(appender: DuckDBAppender): void {
  try {
    appender.closeSync()
  } catch {}
}

type Given = number | bigint | string

const bits: Readonly<Partial<Record<DuckDBTypeId, readonly [count: number, signed: boolean]>>> = {
  [DuckDBTypeId.TINYINT]: [8, true],
  [DuckDBTypeId.SMALLINT]: [16, true],
  [DuckDBTypeId.INTEGER]: [32, true],
  [DuckDBTypeId.BIGINT]: [64, true],
  [DuckDBTypeId.HUGEINT]: [128, true],
  [DuckDBTypeId.UTINYINT]: [8, false],
  [DuckDBTypeId.USMALLINT]: [16, false],
  [DuckDBTypeId.UINTEGER]: [32, false],
  [DuckDBTypeId.UBIGINT]: [64, false],
}

/** The driver would wrap a number that does not fit its column, so each one is checked. */
function converterFor(type: DuckDBType, name: string): (value: Given) => DuckDBValue {
  const width = bits[type.typeId]
  if (!width) return (value) => value
  const [count, signed] = width
  const min = signed ? -(2n ** BigInt(count - 1)) : 0n
  const max = signed ? 2n ** BigInt(count - 1) - 1n : 2n ** BigInt(count) - 1n
  return (value) => {
    // Comparing a number with a bigint is exact.
    const fits = typeof value !== 'string' && value >= min && value <= max
    assert(fits && (typeof value === 'bigint' || Number.isInteger(value)), `${name} cannot hold ${value}`)
    return count >= 64 ? BigInt(value) : Number(value)
  }
}
