// The shared SQL in PostgreSQL's words: where values go, how columns are typed, and how values come back. Nothing here
// talks to anybody.
import type { StateDialect, Value } from '../state.ts'

export const dialect: StateDialect = { bytes: 'bytea', strict: '', clustered: '' }

/** Text is ordered by its bytes, as the embedded engine does it, whatever the language of the database (behaviour/operations.md#database-interface). */
export const toPostgresSql = (statement: string): string =>
  statement.replaceAll(/\btext\b(?=\s*(?:,|\)|not null|primary key|unique|--|$))/gim, 'text collate "C"')

/** `?` outside of quotes and comments becomes `$1`, `$2`, … */
export function numberPlaceholders(sql: string): string {
  let count = 0
  return sql.replaceAll(/'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\?/g, (found) => {
    if (found !== '?') return found
    count += 1
    return `$${count}`
  })
}

export const bound = (value: Value): string | Uint8Array | null =>
  typeof value === 'string'
    ? storable(value)
    : typeof value === 'number' || typeof value === 'bigint'
      ? String(value)
      : value

/** PostgreSQL's text cannot hold the character zero, which no wire of ours has a use for (state 9). */
export const storable = (text: string): string => (text.includes('\0') ? text.replaceAll('\0', '\uFFFD') : text)

/** PostgreSQL's numbers for the types that both engines know. */
const parsers: Readonly<Record<number, (text: string) => Value>> = {
  17: (text) => Uint8Array.fromHex(text.slice(2)),
  19: (text) => text,
  20: wholeNumber,
  21: Number,
  23: Number,
  25: (text) => text,
  701: Number,
  1043: (text) => text,
  2278: () => null,
}

/** A type that the other engine would show as something else must not reach anyone by accident. */
export const parserOf = (type: number): ((text: string) => Value) =>
  parsers[type] ??
  (() => {
    throw new Error(`a column has PostgreSQL's type ${type}, which the engines do not share: cast it to bigint or text`)
  })

function wholeNumber(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw new RangeError(`the integer ${text} is beyond 2^53: keep such values as text`)
  return value
}
