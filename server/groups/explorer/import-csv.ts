// Reads CSV (RFC 4180, and line ends of any kind) into records with the line each begins on. What is malformed is one
// bad record, not a bad file, as long as the reader can tell where the next one begins.
import type { RawRecord } from './labels-check.ts'

export interface ImportedRecord {
  readonly line: number
  readonly record: RawRecord | undefined
  /** Why there is no record. */
  readonly reason?: string
  /** The record as it stood in the file. */
  readonly raw: string
}

interface CsvRow {
  readonly line: number
  readonly cells: readonly string[]
  readonly raw: string
  readonly reason?: string
}

/** The header's names, as they are, and a record for every line below it. */
export function readCsv(text: string): {
  readonly names: readonly string[]
  readonly records: Iterable<ImportedRecord>
} {
  const rows = csvRows(text.replace(/^\uFEFF/, ''))
  const names = (rows.next().value?.cells ?? []).map((name) => name.trim())
  return { names, records: recordsOf(rows, names) }
}

function* recordsOf(rows: Iterable<CsvRow>, names: readonly string[]): Generator<ImportedRecord> {
  for (const { line, cells, raw, reason } of rows) {
    if (reason !== undefined) yield { line, record: undefined, reason, raw }
    else if (cells.length === 1 && cells[0] === '') continue
    else if (cells.length !== names.length) {
      yield { line, record: undefined, reason: `has ${cells.length} values, the header has ${names.length}`, raw }
    } else yield { line, record: Object.fromEntries(names.map((name, at) => [name, cells[at]])), raw }
  }
}

const bare = /[^,\r\n]*/y
const inQuotes = /"([^"]*(?:""[^"]*)*)"/y
const restOfLine = /[^\r\n]*/y

/** One row at a time; a value in quotes may span lines. */
function* csvRows(text: string): Generator<CsvRow, undefined> {
  let at = 0
  let line = 1
  while (at < text.length) {
    const start = at
    const cells: string[] = []
    let reason: string | undefined
    for (;;) {
      const quoted = text[at] === '"'
      const found = match(quoted ? inQuotes : bare, text, at)
      if (!found) {
        yield { line, cells, raw: text.slice(start), reason: 'a quote is opened here and never closed' }
        return
      }
      cells.push(quoted ? (found[1] ?? '').replaceAll('""', '"') : found[0])
      at += found[0].length
      if (quoted && at < text.length && !',\r\n'.includes(text[at] as string)) {
        reason = 'a closing quote is followed by more text'
        at += match(restOfLine, text, at)?.[0].length ?? 0
      }
      if (text[at] !== ',') break
      at += 1
    }
    const raw = text.slice(start, at)
    yield { line, cells, raw, ...(reason !== undefined && { reason }) }
    line += raw.split(/\r\n|\r|\n/).length
    at += text.startsWith('\r\n', at) ? 2 : 1
  }
}

function match(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at
  return pattern.exec(text)
}
