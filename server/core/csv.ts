// Reads CSV (RFC 4180, and line ends of any kind) into rows with the line each begins on. What is malformed is one bad row, not
// a bad file, as long as the reader can tell where the next one begins.

export interface CsvRow {
  readonly line: number
  readonly cells: readonly string[]
  /** The row as it stood in the file. */
  readonly raw: string
  /** Why it cannot be read. */
  readonly reason?: string
}

const bare = /[^,\r\n]*/y
const inQuotes = /"([^"]*(?:""[^"]*)*)"/y
const restOfLine = /[^\r\n]*/y

/** One row at a time; a value in quotes may span lines. A mark of byte order before the first is no part of it. */
export function* csvRows(text: string): Generator<CsvRow, undefined> {
  let at = text.startsWith('\uFEFF') ? 1 : 0
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
