// Reads rows in PostgreSQL's binary format, in which bytes are half as long as in text and need no decoding. The driver
// can request this format but reads every value as text. So messages with such rows are taken out of the stream before
// the driver parses it, and a query of the driver decodes them.
import { EventEmitter } from 'node:events'
import { type Client, Query, type QueryConfig } from 'pg'
import type { Row, Value } from '../state.ts'
import { decoderOf } from './dialect.ts'

interface Field {
  readonly name: string
  readonly dataTypeID: number
  readonly format: 'text' | 'binary'
}

interface RowDescription {
  readonly fields: readonly Field[]
}

/** A method of the driver's connection that its types do not declare. It starts the parser of a stream. */
interface ParsedConnection extends EventEmitter {
  attachListeners(stream: EventEmitter): void
}

/** Call it before the client connects. */
export function takeBinaryRows(client: Client): void {
  const connection = client.connection as unknown as ParsedConnection
  const parse = connection.attachListeners.bind(connection)
  let isBinary = false
  connection.on('rowDescription', ({ fields }: RowDescription) => {
    isBinary = fields.some(({ format }) => format === 'binary')
  })
  connection.attachListeners = (stream) => {
    const others = new EventEmitter()
    parse(others)
    const split = splitMessages((message, isRow) => {
      if (!isRow || !isBinary) others.emit('data', message)
      else connection.emit('dataRow', { row: message })
    })
    stream.on('data', split)
    stream.on('end', () => others.emit('end'))
  }
}

const rowCode = 'D'.charCodeAt(0)
/** The code of a message and its length, which does not count the code. */
const headerBytes = 5

/** Returns a function that takes the next bytes and passes on complete messages: rows one by one, others together. */
export function splitMessages(pass: (messages: Buffer, isRow: boolean) => void): (bytes: Buffer) => void {
  /** The start of a message that is not complete. */
  let [parts, partBytes, neededBytes]: [Buffer[], number, number] = [[], 0, 0]
  return (next) => {
    parts.push(next)
    partBytes += next.length
    if (partBytes < neededBytes) return
    const bytes = parts.length === 1 ? next : Buffer.concat(parts)
    let [at, passed] = [0, 0]
    neededBytes = headerBytes
    while (at + headerBytes <= bytes.length) {
      const end = at + 1 + bytes.readUInt32BE(at + 1)
      neededBytes = end - at
      if (end > bytes.length) break
      if (bytes[at] === rowCode) {
        if (passed < at) pass(bytes.subarray(passed, at), false)
        pass(bytes.subarray(at, end), true)
        passed = end
      }
      at = end
      neededBytes = headerBytes
    }
    if (passed < at) pass(bytes.subarray(passed, at), false)
    partBytes = bytes.length - at
    parts = partBytes > 0 ? [bytes.subarray(at)] : []
  }
}

/** A statement whose rows are binary. */
export class BinaryQuery extends Query {
  readonly #found: Row[] = []
  #names: readonly string[] = []
  #decoders: readonly ((bytes: Buffer, from: number, until: number) => Value)[] = []
  #error: unknown

  constructor(config: QueryConfig, done: (rows: Row[]) => void, failed: (error: unknown) => void) {
    super({ ...config, binary: true, queryMode: 'extended' } as QueryConfig, (error) => {
      const reason = error ?? this.#error
      if (reason) failed(reason)
      else done(this.#found)
    })
  }

  handleRowDescription({ fields }: RowDescription): void {
    this.#names = fields.map(({ name }) => name)
    this.#decoders = fields.map(({ dataTypeID }) => decoderOf(dataTypeID))
  }

  handleDataRow({ row }: { readonly row: Buffer }): void {
    if (this.#error) return
    try {
      this.#found.push(this.#decode(row))
    } catch (error) {
      this.#error = error
    }
  }

  #decode(bytes: Buffer): Row {
    const row: Row = {}
    // The number of columns follows the header.
    let at = headerBytes + 2
    for (let column = 0; column < this.#names.length; column++) {
      const length = bytes.readInt32BE(at)
      at += 4
      const until = at + Math.max(0, length)
      const name = this.#names[column] as string
      row[name] = length < 0 ? null : (this.#decoders[column]?.(bytes, at, until) ?? null)
      at = until
    }
    return row
  }
}
