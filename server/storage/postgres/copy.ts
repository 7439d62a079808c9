// Inserts rows with COPY, the fastest way (behaviour/operations.md#bulk-inserts). The driver supports the protocol messages
// but has no function for it, so this file implements a query of the driver.
import type { Submittable } from 'pg'
import type { Value } from '../state.ts'
import { storable } from './dialect.ts'

/** Methods of the driver's connection that its types do not declare. */
interface CopyConnection {
  query(sql: string): void
  sendCopyFromChunk(chunk: Uint8Array): void
  endCopyFrom(): void
}

const chunkChars = 262_144

export class CopyIn implements Submittable {
  readonly #sql: string
  readonly #rows: Iterable<readonly Value[]>
  /** The driver wraps it with its timeout. */
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
  if (typeof value === 'string')
    return storable(value).replaceAll(/[\\\n\r\t]/g, (character) => escapes[character] ?? character)
  return value instanceof Uint8Array ? `\\\\x${value.toHex()}` : String(value)
}
