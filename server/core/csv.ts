// Parses CSV (RFC 4180, with any line ends, also with semicolons or tabs) into rows with line numbers. A malformed row is
// reported and the following rows are still parsed.

export interface CsvRow {
  readonly line: number
  readonly cells: readonly string[]
  /** The row as in the file. */
  readonly raw: string
  /** Why the row is invalid. */
  readonly reason?: string
}

const separators = [',', ';', '\t'] as const
export type Separator = (typeof separators)[number]

const bareValues: Readonly<Record<Separator, RegExp>> = {
  ',': /[^,\r\n]*/y,
  ';': /[^;\r\n]*/y,
  '\t': /[^\t\r\n]*/y,
}
const inQuotes = /"([^"]*(?:""[^"]*)*)"/y
const restOfLine = /[^\r\n]*/y

/** The one that occurs most often in the header line, outside quotes. A comma if there is none. */
export function detectSeparator(text: string): Separator {
  const [header = ''] = text.replaceAll(/"[^"]*"/g, '').split(/[\r\n]/, 1)
  const countOf = (separator: Separator) => header.split(separator).length
  return separators.reduce((best, separator) => (countOf(separator) > countOf(best) ? separator : best))
}

/** Quoted values may span lines. A byte order mark is skipped. */
export function* csvRows(text: string, separator: Separator = ','): Generator<CsvRow, undefined> {
  const bare = bareValues[separator]
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
        yield { line, cells, raw: text.slice(start), reason: 'the closing quote is missing' }
        return
      }
      cells.push(quoted ? (found[1] ?? '').replaceAll('""', '"') : found[0])
      at += found[0].length
      if (quoted && at < text.length && !`${separator}\r\n`.includes(text[at] as string)) {
        reason = 'there is text after a closing quote'
        at += match(restOfLine, text, at)?.[0].length ?? 0
      }
      if (text[at] !== separator) break
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
