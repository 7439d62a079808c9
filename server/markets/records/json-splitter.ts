// Splits a stream of bytes into JSON records, so that a file of any size needs the memory of one record. It detects the
// format: a list, concatenated records, one record per line, or a single record.
//
// 1. The result does not depend on how the bytes are split into chunks.
// 2. An invalid record does not affect others, as long as its brackets and quotes are balanced or, with one record per
//    line, its line ends. Problems are reported with the line on which the record starts.
// 3. A record larger than `recordBytesMax` is rejected and not buffered.

export type SplitRecord =
  | { readonly line: number; readonly text: string }
  | { readonly line: number; readonly problem: string }

export interface SplitOptions {
  readonly recordBytesMax?: number
  /** Force one record per line. */
  readonly lines?: boolean
}

const [quote, backslash, comma, newline] = [0x22, 0x5c, 0x2c, 0x0a]
const [openBrace, closeBrace, openList, closeList] = [0x7b, 0x7d, 0x5b, 0x5d]
const byteOrderMark: ReadonlySet<number> = new Set([0xef, 0xbb, 0xbf])
const isSpace = (byte: number): boolean => byte === 0x20 || byte === newline || byte === 0x0d || byte === 0x09

/** `start`: nothing read yet. `list`: inside the outer list. `objects`: concatenated records. `after`: after the list. */
type Mode = 'start' | 'list' | 'objects' | 'lines' | 'after' | 'ignored'

export class JsonSplitter {
  readonly #bytesMax: number
  #mode: Mode
  #line = 1
  /** The current record: whether it has started, where, the nesting depth, and whether it is inside a string. */
  #begun = false
  #startLine = 1
  #depth = 0
  #inText = false
  #escaped = false
  #parts: Uint8Array[] = []
  #size = 0
  /** Whether the first record ended on the line it started on, and only spaces have followed it. */
  #firstLineEnded = false
  #count = 0
  #records: SplitRecord[] = []

  constructor({ recordBytesMax = 16_777_216, lines = false }: SplitOptions = {}) {
    this.#bytesMax = recordBytesMax
    this.#mode = lines ? 'lines' : 'start'
  }

  push(chunk: Uint8Array): SplitRecord[] {
    for (let at = 0; at < chunk.length; ) {
      if (this.#mode === 'lines') at = this.#readLine(chunk, at)
      else if (this.#mode === 'list' || this.#mode === 'objects') at = this.#readValues(chunk, at)
      else at = this.#readOutside(chunk, at)
    }
    return this.#takeRecords()
  }

  /** The rest after the last chunk. */
  end(): SplitRecord[] {
    const open = this.#mode === 'list' || ((this.#depth > 0 || this.#inText) && this.#begun)
    if (open) {
      const subject = this.#begun ? 'the record' : 'the list'
      this.#records.push({
        line: this.#begun ? this.#startLine : this.#line,
        problem: `${subject} does not end; the file may be truncated`,
      })
    } else if (this.#begun || this.#mode === 'lines') this.#endRecord()
    return this.#takeRecords()
  }

  #takeRecords(): SplitRecord[] {
    const records = this.#records
    this.#records = []
    return records
  }

  #readLine(chunk: Uint8Array, from: number): number {
    if (this.#size === 0) this.#startLine = this.#line
    const at = chunk.indexOf(newline, from)
    this.#keep(chunk, from, at < 0 ? chunk.length : at)
    if (at < 0) return chunk.length
    this.#endRecord()
    this.#line += 1
    return at + 1
  }

  /** Reads bytes before the first value and after the last. */
  #readOutside(chunk: Uint8Array, at: number): number {
    const byte = chunk[at] as number
    if (this.#mode === 'ignored') return chunk.length
    if (byte === newline) this.#line += 1
    if (isSpace(byte)) return at + 1
    if (this.#mode === 'after') {
      this.#records.push({ line: this.#line, problem: 'there is text after the end of the list' })
      this.#mode = 'ignored'
      return chunk.length
    }
    if (byteOrderMark.has(byte)) return at + 1
    this.#mode = byte === openList ? 'list' : 'objects'
    return byte === openList ? at + 1 : at
  }

  /** Reads values of a list or concatenated values, until the mode changes or the chunk ends. */
  #readValues(chunk: Uint8Array, start: number): number {
    const inList = this.#mode === 'list'
    let from = start
    for (let at = start; at < chunk.length; at++) {
      const byte = chunk[at] as number
      if (byte === newline) this.#line += 1
      if (this.#inText) {
        if (this.#escaped) this.#escaped = false
        else if (byte === backslash) this.#escaped = true
        else if (byte === quote) this.#inText = false
        continue
      }
      if (!this.#begun) {
        if (byte === newline && this.#firstLineEnded) return this.#switchMode('lines', at)
        if (isSpace(byte) || (inList && byte === comma)) continue
        if (inList && byte === closeList) return this.#switchMode('after', at)
        this.#begun = true
        this.#firstLineEnded = false
        this.#startLine = this.#line
        from = at
      }
      if (byte === quote) this.#inText = true
      else if (byte === openBrace || byte === openList) this.#depth += 1
      else if ((byte === closeBrace || byte === closeList) && this.#depth > 0) {
        this.#depth -= 1
        if (this.#depth > 0) continue
        this.#keep(chunk, from, at + 1)
        this.#firstLineEnded = !inList && this.#count === 0 && this.#startLine === this.#line
        this.#endRecord()
      } else if (this.#depth === 0 && (inList ? byte === comma || byte === closeList : byte === newline)) {
        // A value without brackets ends at the separator.
        this.#keep(chunk, from, at)
        const isFirstRecord = this.#count === 0
        this.#endRecord()
        if (byte === closeList) return this.#switchMode('after', at)
        if (!inList && isFirstRecord) return this.#switchMode('lines', at)
      }
    }
    if (this.#begun) this.#keep(chunk, from, chunk.length)
    return chunk.length
  }

  #switchMode(mode: Mode, at: number): number {
    this.#mode = mode
    return at + 1
  }

  /** Copies, because the caller may reuse the chunk. */
  #keep(chunk: Uint8Array, from: number, until: number): void {
    this.#size += until - from
    if (this.#size > this.#bytesMax) this.#parts = []
    else if (until > from) this.#parts.push(chunk.slice(from, until))
  }

  #endRecord(): void {
    const bytes = this.#parts.length === 1 ? (this.#parts[0] as Uint8Array) : Buffer.concat(this.#parts)
    const line = this.#startLine
    if (this.#size > this.#bytesMax) {
      this.#records.push({ line, problem: `the record is larger than ${this.#bytesMax} bytes` })
    } else if (!bytes.every(isSpace)) this.#records.push(toSplitRecord(line, bytes))
    this.#count += 1
    this.#parts = []
    this.#size = 0
    this.#begun = false
  }
}

const decoder = new TextDecoder('utf-8', { fatal: true })

function toSplitRecord(line: number, bytes: Uint8Array): SplitRecord {
  try {
    return { line, text: decoder.decode(bytes) }
  } catch {
    return { line, problem: 'the record is not UTF-8' }
  }
}
