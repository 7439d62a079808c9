// Rows into a table by COPY, the quickest way in (behaviour/operations.md#bulk-inserts). The driver knows the messages but has no word for it, so
// this is one of its queries, written by hand.
import type { Submittable } from 'pg'
import type { Value } from '../state.ts'
import { storable } from './dialect.ts'

/** What the driver's connection can do during a COPY; its types leave it out. */
interface CopyConnection {
  query(sql: string): void
  sendCopyFromChunk(chunk: Uint8Array): void
  endCopyFrom(): void
}

const chunkChars = 262_144

export class CopyIn implements Submittable {
  readonly #sql: string
  readonly #rows: Iterable<readonly Value[]>
  /** The driver puts its own time-out around it. */
  callback: (error?: Error | null) => void

  constructor(sql: string, rows: Iterable<readonly Value[]>, done: () => void, failed: (error: Error) => void) {
    this.#sql = sql
    this.#rows = rows
    this.callback = (error) => (error ? failed(error) : done())
  }

  submit(connection: unknown): void {
    ;(connection as CopyConnection).query(this.#sql)
  }

  handleCopyInResponse(connection: CopyConnection): void {
    let text = ''
    for (const row of this.#rows) {
      text += `${row.map(cellOf).join('\t')}\n`
      if (text.length < chunkChars) continue
      connection.sendCopyFromChunk(Buffer.from(text))
      text = ''
    }
    connection.sendCopyFromChunk(Buffer.from(text))
    connection.endCopyFrom()
  }

  handleCommandComplete(): void {}

  handleReadyForQuery(): void {
    this.callback()
  }

  handleError(error: Error): void {
    this.callback(error)
  }
}

const escapes: Readonly<Record<string, string>> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' }

/** COPY's text format. */
export function cellOf(value: Value): string {
  if (value === null) return '\\N'
  if (typeof value === 'string') return storable(value).replaceAll(/[\\\n\r\t]/g, (found) => escapes[found] ?? found)
  return value instanceof Uint8Array ? `\\\\x${value.toHex()}` : String(value)
}
