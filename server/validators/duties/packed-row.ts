// Reads packed rows (row-format.ts).
import { strict as assert } from 'node:assert'
import { crc32 } from 'node:zlib'
import { Fault } from '#core/fault.ts'
import { addNarrow, bitCounts, packedAt, uintAt, valueLimits } from './packed-numbers.ts'
import {
  type Cells,
  checksumFrom,
  formatVersion,
  hasUnknown,
  isNegative,
  isSparse,
  rankBytes,
  widths,
} from './row-format.ts'

const unreadable = (what: string): Fault => new Fault('store.unavailable', { detail: `a packed row of duties ${what}` })

/** The bytes of a row do not match their checksum. */
export class DamagedRow extends Fault {
  constructor(what: string) {
    const advice = 'run `tetrad doctor` to see which epochs to pass to `tetrad repair`, or restore a backup'
    super('store.unavailable', { detail: `${what} is damaged (wrong checksum); ${advice}` })
  }
}

/** Reads one packed row at a time, and can be reused. */
export class RowReader {
  /** The number of columns that the reader expects. */
  readonly #columns: number
  readonly #kinds: Uint8Array
  readonly #starts: Int32Array
  /** The first `usedCount` entries are the columns of the open packed row that have non-zero or unknown values. */
  readonly used: Uint8Array
  usedCount = 0
  #bytes: Uint8Array = new Uint8Array(0)
  #at = 0
  #cells = 0
  #present = 0
  /** Position of the presence bits; 0: all cells are present. */
  #bitsAt = 0
  #written = 0
  /** The first selected cell. */
  #first = 0
  /** The rank of each selected cell; −1: absent. Not filled if all cells are present. */
  #ranks = new Int32Array()

  constructor(columns: number) {
    this.#columns = columns
    this.#kinds = new Uint8Array(columns)
    this.#starts = new Int32Array(columns)
    this.used = new Uint8Array(columns)
  }

  get cells(): number {
    return this.#cells
  }

  open(bytes: Uint8Array): this {
    if (bytes[0] !== formatVersion)
      throw unreadable(`has format ${bytes[0]}, which this version cannot read; update Tetrad, or restore a backup`)
    const written = bytes[1] as number
    if (written > this.#columns)
      throw unreadable(`has ${written} columns, more than this version knows; update Tetrad, or restore a backup`)
    this.#bytes = bytes
    this.#at = 2
    if (this.#uint(4) !== crc32(bytes.subarray(checksumFrom), written)) throw new DamagedRow('a packed row of duties')
    this.#cells = this.#uint(4)
    this.#bitsAt = 0
    this.#present = this.#cells
    if (bytes[this.#at++] === 1) {
      this.#bitsAt = this.#at
      this.#at += Math.ceil(this.#cells / 8)
      this.#present = this.#presentBefore(this.#cells)
    }
    this.#written = written
    const columnBits = this.#at
    this.#at += Math.ceil(written / 8)
    this.usedCount = 0
    for (let column = 0; column < this.#columns; column++) {
      const isStored = column >= written || (((bytes[columnBits + (column >> 3)] as number) >> (column & 7)) & 1) === 1
      this.#starts[column] = isStored ? this.#at : 0
      if (!isStored) continue
      this.used[this.usedCount++] = column
      if (column < written) this.#skipColumn(column)
    }
    return this
  }

  #skipColumn(column: number): void {
    const kind = this.#bytes[this.#at++] as number
    this.#kinds[column] = kind
    if ((kind & hasUnknown) !== 0) this.#at += Math.ceil(this.#present / 8)
    this.#varint()
    const bits = widths[kind & 15] as number
    if ((kind & isSparse) === 0) {
      this.#at += Math.ceil((this.#present * bits) / 8)
      return
    }
    const outliers = this.#varint()
    this.#at += 1
    this.#varint()
    this.#at += outliers * (rankBytes(this.#present) + bits / 8)
  }

  isPresent(cell: number): boolean {
    return this.#bitsAt === 0 || (((this.#bytes[this.#bitsAt + (cell >> 3)] as number) >> (cell & 7)) & 1) === 1
  }

  #presentBefore(cell: number): number {
    let count = 0
    const whole = cell >> 3
    for (let at = 0; at < whole; at++) count += bitCounts[this.#bytes[this.#bitsAt + at] as number] as number
    if ((cell & 7) > 0)
      count += bitCounts[(this.#bytes[this.#bitsAt + whole] as number) & ((1 << (cell & 7)) - 1)] as number
    return count
  }

  /** Selects `count` cells from `first` on, for the `add…` methods. False: none of them is present. */
  selectCells(first: number, count: number): boolean {
    this.#first = first
    if (this.#bitsAt === 0) return count > 0
    if (this.#ranks.length < count) this.#ranks = new Int32Array(count * 2)
    const ranks = this.#ranks
    let rank = this.#presentBefore(first)
    let hasPresent = false
    for (let at = 0; at < count; at++) {
      const isPresent = this.isPresent(first + at)
      ranks[at] = isPresent ? rank++ : -1
      hasPresent ||= isPresent
    }
    return hasPresent
  }

  /** The rank of a selected cell; −1: it is absent. */
  #rankOf(cell: number): number {
    return this.#bitsAt === 0 ? this.#first + cell : (this.#ranks[cell] as number)
  }

  /** An upper limit for how much values of the column exceed its base. */
  maxAboveBase(column: number): number {
    return valueLimits[(this.#kinds[column] as number) & 15] as number
  }

  /** Adds the values of the selected cells: cell n of them is added to `into[to[n]]`, unless `to[n]` is negative. */
  addColumn(column: number, count: number, into: Float64Array, to: Int32Array): void {
    if (column >= this.#written) {
      this.#addUnknown(count, into, to, () => true)
      return
    }
    const start = this.#starts[column] as number
    if (start === 0) return
    const bytes = this.#bytes
    this.#at = start + 1
    const kind = this.#kinds[column] as number
    if ((kind & hasUnknown) !== 0) {
      const isUnknown = (rank: number) => (((bytes[start + 1 + (rank >> 3)] as number) >> (rank & 7)) & 1) === 1
      this.#addUnknown(count, into, to, isUnknown)
      this.#at += Math.ceil(this.#present / 8)
    }
    const base = this.#base(kind)
    const bits = widths[kind & 15] as number
    if ((kind & isSparse) !== 0) {
      if (base !== 0) this.#addBase(base, count, into, to)
      this.#addOutliers(base, bits / 8, count, into, to)
      return
    }
    const from = this.#at
    for (let cell = 0; cell < count; cell++) {
      const rank = this.#rankOf(cell)
      const target = to[cell] as number
      if (target >= 0 && rank >= 0) into[target] = (into[target] as number) + base + packedAt(bytes, from, rank, bits)
    }
  }

  /** Like addColumn, for counts: numbers of at most 24 bits. This is several times as fast. */
  addCounts(column: number, count: number, into: Int32Array, to: Int32Array): void {
    const start = this.#starts[column] as number
    if (column >= this.#written || start === 0) return
    const kind = this.#kinds[column] as number
    const bits = widths[kind & 15] as number
    if (bits > 24 || (kind & hasUnknown) !== 0) throw unreadable('has a count that is unknown or too large')
    this.#at = start + 1
    const base = this.#base(kind)
    if ((kind & isSparse) !== 0) {
      if (base !== 0) this.#addBase(base, count, into, to)
      this.#addOutliers(base, bits / 8, count, into, to)
    } else if (this.#bitsAt === 0) {
      addNarrow(this.#bytes, this.#at, this.#first, bits, base, count, into, to)
    } else {
      const [bytes, from] = [this.#bytes, this.#at]
      for (let cell = 0; cell < count; cell++) {
        const rank = this.#rankOf(cell)
        const target = to[cell] as number
        if (target >= 0 && rank >= 0) into[target] = (into[target] as number) + base + packedAt(bytes, from, rank, bits)
      }
    }
  }

  /**
   * Adds the selected cells' values minus the base: of dense columns to `small`, of sparse columns to `large`. Returns
   * the base, which the caller adds for every cell; undefined: this column cannot be read this way, and nothing was
   * added.
   */
  addAboveBase(
    column: number,
    count: number,
    small: Int32Array,
    large: Float64Array,
    to: Int32Array,
  ): number | undefined {
    if (column >= this.#written || this.#bitsAt !== 0) return undefined
    const kind = this.#kinds[column] as number
    const bits = widths[kind & 15] as number
    if (bits > 24 || (kind & hasUnknown) !== 0) return undefined
    this.#at = (this.#starts[column] as number) + 1
    const base = this.#base(kind)
    if ((kind & isSparse) !== 0) this.#addOutliers(base, bits / 8, count, large, to)
    else if (bits > 0) addNarrow(this.#bytes, this.#at, this.#first, bits, 0, count, small, to)
    return base
  }

  #base(kind: number): number {
    const magnitude = this.#varint()
    return (kind & isNegative) === 0 ? magnitude : -magnitude
  }

  #addBase(base: number, count: number, into: Float64Array | Int32Array, to: Int32Array): void {
    for (let cell = 0; cell < count; cell++) {
      const target = to[cell] as number
      if (target >= 0 && this.#rankOf(cell) >= 0) into[target] = (into[target] as number) + base
    }
  }

  /** Adds the outliers' differences from the base. */
  #addOutliers(base: number, size: number, count: number, into: Float64Array | Int32Array, to: Int32Array): void {
    const bytes = this.#bytes
    const outliers = this.#varint()
    const isBelow = bytes[this.#at++] === 1
    const magnitude = this.#varint()
    const outlierMin = (isBelow ? -magnitude : magnitude) - base
    const rankSize = rankBytes(this.#present)
    const ranksAt = this.#at
    const valuesAt = ranksAt + outliers * rankSize
    // Both lists of ranks ascend, so one pass over both is enough. It starts at the first selected cell.
    let cell = 0
    while (cell < count && this.#rankOf(cell) < 0) cell += 1
    if (cell === count) return
    let entry = this.#firstEntry(ranksAt, rankSize, outliers, this.#rankOf(cell))
    for (; entry < outliers; entry++) {
      const at = ranksAt + entry * rankSize
      const rank = rankSize === 1 ? (bytes[at] as number) : uintAt(bytes, at, rankSize)
      if (this.#bitsAt === 0) cell = rank - this.#first
      else while (cell < count && this.#rankOf(cell) < rank) cell += 1
      if (cell >= count) return
      const target = to[cell] as number
      if (target < 0 || this.#rankOf(cell) !== rank) continue
      into[target] = (into[target] as number) + outlierMin + uintAt(bytes, valuesAt + entry * size, size)
    }
  }

  /** Binary search: the first entry of a list of ascending ranks that is not below this one. */
  #firstEntry(ranksAt: number, rankSize: number, count: number, rank: number): number {
    let low = 0
    let high = count
    while (low < high) {
      const middle = (low + high) >> 1
      if (uintAt(this.#bytes, ranksAt + middle * rankSize, rankSize) < rank) low = middle + 1
      else high = middle
    }
    return low
  }

  #addUnknown(count: number, into: Float64Array, to: Int32Array, isUnknown: (rank: number) => boolean): void {
    for (let cell = 0; cell < count; cell++) {
      const rank = this.#rankOf(cell)
      const target = to[cell] as number
      if (rank >= 0 && target >= 0 && isUnknown(rank)) into[target] = Number.NaN
    }
  }

  #varint(): number {
    let value = 0
    let scale = 1
    for (;;) {
      const byte = this.#bytes[this.#at++] as number
      value += (byte & 127) * scale
      if (byte < 128) return value
      scale *= 128
    }
  }

  #uint(size: number): number {
    const value = uintAt(this.#bytes, this.#at, size)
    this.#at += size
    return value
  }
}

/** Adds all cells of a packed row to the same number of cells. */
export function addRow(reader: RowReader, bytes: Uint8Array, into: Cells): void {
  reader.open(bytes)
  assert.equal(reader.cells, into.count, 'a packed row of duties has another number of cells than its level')
  addCells(reader, into, 0, into.count, identity(into.count))
}

/** Adds `count` cells of the open packed row from `first` on: cell n of them to cell `to[n]`. */
export function addCells(reader: RowReader, into: Cells, first: number, count: number, to: Int32Array): void {
  if (!reader.selectCells(first, count)) return
  for (let cell = 0; cell < count; cell++) {
    const target = to[cell] as number
    if (target >= 0 && reader.isPresent(first + cell)) into.isPresent[target] = 1
  }
  for (const column of reader.used.subarray(0, reader.usedCount)) {
    reader.addColumn(column, count, into.columns[column] as Float64Array, to)
    into.isUsed[column] = 1
  }
}

let identityCache = new Int32Array(0)
/** 0, 1, 2, … up to at least `count`. */
export function identity(count: number): Int32Array {
  if (identityCache.length < count) identityCache = Int32Array.from({ length: count }, (_, at) => at)
  return identityCache
}
