// Translates the shared SQL for PostgreSQL: placeholders, column types, and conversion of values.
import type { StateDialect, Value } from '../state.ts'

/** When the transaction began, in microseconds. */
export const transactionStart = '(extract(epoch from now()) * 1000000)::bigint'

export const dialect: StateDialect = { bytes: 'bytea', strict: '', clustered: '' }

/** Text is ordered by bytes, as in SQLite, independent of the database's locale (behaviour/operations.md#database-interface). */
export const toPostgresSql = (statement: string): string =>
  statement.replaceAll(/\btext\b(?=\s*(?:,|\)|not null|primary key|unique|--|$))/gim, 'text collate "C"')

/** Replaces `?` outside quotes and comments by `$1`, `$2`, …, and lists (storage/state.ts). */
export function numberPlaceholders(sql: string): string {
  let count = 0
  // Compared with an array, because PostgreSQL would join a list of unknown length by reading the whole table.
  return sql.replaceAll(
    /'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|in \(select (value|atom) from (?:json_each\(\?\)|(\w+))\)|json_each\(\?\)(?: as (\w+))?|\?/g,
    (token, member?: string, name?: string, rows?: string) => {
      if (token === '?') return `$${++count}`
      if (rows !== undefined) return `json_array_elements($${++count}::json) as ${rows} (value)`
      if (token.startsWith('json_each')) return `(select ${numbersOf(++count)} as value) as list`
      if (!token.startsWith('in ')) return token
      if (name !== undefined) return `= any(array(select value from ${name}))`
      return `= any(array(select ${member === 'atom' ? textsOf(++count) : numbersOf(++count)}))`
    },
  )
}

const textsOf = (value: number): string => `json_array_elements_text($${value}::json)`
const numbersOf = (value: number): string => `${textsOf(value)}::bigint`

export const bound = (value: Value): string | Uint8Array | null =>
  typeof value === 'string'
    ? storable(value)
    : typeof value === 'number' || typeof value === 'bigint'
      ? String(value)
      : value

/** PostgreSQL cannot store U+0000 in text (storage/state.ts, rule 9). */
export const storable = (text: string): string => (text.includes('\0') ? text.replaceAll('\0', '\uFFFD') : text)

/** Reads a value in binary format from some bytes of a message. */
export type Decoder = (bytes: Buffer, from: number, until: number) => Value

const decodeText: Decoder = (bytes, from, until) => bytes.toString('utf8', from, until)

/** By the type ids of PostgreSQL, for the types that both engines have. */
const decoders: Readonly<Record<number, Decoder>> = {
  // Without a copy, which would take longer than reading the message.
  17: ({ buffer, byteOffset }, from, until) => new Uint8Array(buffer, byteOffset + from, until - from),
  19: decodeText,
  20: decodeInteger,
  21: (bytes, from) => bytes.readInt16BE(from),
  23: (bytes, from) => bytes.readInt32BE(from),
  25: decodeText,
  701: (bytes, from) => bytes.readDoubleBE(from),
  1043: decodeText,
  2278: () => null,
}

/** Other types are errors, because SQLite would return other values. */
export const decoderOf = (type: number): Decoder =>
  decoders[type] ??
  (() => {
    throw new Error(`a column has the PostgreSQL type ${type}, which SQLite does not have: cast it to bigint or text`)
  })

function decodeInteger(bytes: Buffer, from: number): number {
  const value = bytes.readInt32BE(from) * 2 ** 32 + bytes.readUInt32BE(from + 4)
  if (!Number.isSafeInteger(value))
    throw new RangeError(`the integer ${bytes.readBigInt64BE(from)} is beyond 2^53: store such values as text`)
  return value
}

const integerTypes: readonly number[] = [20, 21, 23]

/** For scripts, whose rows are text. */
export const parserOf = (type: number): ((text: string) => Value) =>
  integerTypes.includes(type) ? Number : (text) => text
