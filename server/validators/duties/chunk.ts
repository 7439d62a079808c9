// Reads chunks (chunk-format.ts).
import { strict as assert } from 'node:assert'
import { crc32 } from 'node:zlib'
import { Fault } from '#core/fault.ts'
import {
  type Cells,
  checkedFrom,
  formatVersion,
  hasUnknown,
  isNegative,
  isSparse,
  placeBytes,
  widths,
} from './chunk-format.ts'

const broken = (what: string): Fault => new Fault('store.unavailable', { detail: `a chunk of duties ${what}` })

/** The bytes of a row are not those that were written. */
export class DamagedChunk extends Fault {
  constructor(what: string) {
    const advice = 'run `tetrad doctor` to see which epochs to pass to `tetrad repair`, or restore a backup'
    super('store.unavailable', { detail: `${what} is damaged (its checksum is wrong); ${advice}` })
  }
}

/** A chunk that is being read. One object can read many, one after the other. */
export class ChunkReader {
  /** Columns that the reader knows. */
  readonly #columns: number
  readonly #kinds: Uint8Array
  readonly #starts: Int32Array
  /** Columns of the open chunk that have values other than zero, or unknown ones: the first `usedCount` of them. */
  readonly used: Uint8Array
  usedCount = 0
  #bytes: Uint8Array = new Uint8Array(0)
  #at = 0
  #cells = 0
  #present = 0
  /** Where the presence bits begin; 0: all cells are present. */
  #bitsAt = 0
  #written = 0
  /** The first cell of the range that is read. */
  #first = 0
  /** The place of each cell of the range among the present ones; −1: absent. Not filled where all cells are present. */
  #places = new Int32Array(1024)

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
      throw broken(`has format ${bytes[0]}, which this version cannot read; update Tetrad, or restore a backup`)
    const written = bytes[1] as number
    if (written > this.#columns)
      throw broken(`has ${written} columns, more than this version knows; update Tetrad, or restore a backup`)
    this.#bytes = bytes
    this.#at = 2
    if (this.#little(4) !== crc32(bytes.subarray(checkedFrom), written)) throw new DamagedChunk('a chunk of duties')
    this.#cells = this.#little(4)
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
      const isThere = column >= written || (((bytes[columnBits + (column >> 3)] as number) >> (column & 7)) & 1) === 1
      this.#starts[column] = isThere ? this.#at : 0
      if (!isThere) continue
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
    const odd = this.#varint()
    this.#at += 1
    this.#varint()
    this.#at += odd * (placeBytes(this.#present) + bits / 8)
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

  /** Chooses `count` cells from `first` on for `addColumn`. False: none of them is present. */
  choose(first: number, count: number): boolean {
    this.#first = first
    if (this.#bitsAt === 0) return count > 0
    if (this.#places.length < count) this.#places = new Int32Array(count * 2)
    const places = this.#places
    let place = this.#presentBefore(first)
    let isAny = false
    for (let at = 0; at < count; at++) {
      const isThere = this.isPresent(first + at)
      places[at] = isThere ? place++ : -1
      isAny ||= isThere
    }
    return isAny
  }

  /** The place of a chosen cell among the present ones; −1: it is absent. */
  #placeOf(cell: number): number {
    return this.#bitsAt === 0 ? this.#first + cell : (this.#places[cell] as number)
  }

  /** The most that a value of the column can be beyond its base. */
  spanOf(column: number): number {
    return spans[(this.#kinds[column] as number) & 15] as number
  }

  /** Adds the chosen cells' values: cell number n of them goes to `into[to[n]]`; a negative place is left out. */
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
      const isSet = (place: number) => (((bytes[start + 1 + (place >> 3)] as number) >> (place & 7)) & 1) === 1
      this.#addUnknown(count, into, to, isSet)
      this.#at += Math.ceil(this.#present / 8)
    }
    const base = this.#base(kind)
    const bits = widths[kind & 15] as number
    if ((kind & isSparse) !== 0) {
      if (base !== 0) this.#addBase(base, count, into, to)
      this.#addOdd(base, bits / 8, count, into, to)
      return
    }
    const from = this.#at
    for (let cell = 0; cell < count; cell++) {
      const place = this.#placeOf(cell)
      const target = to[cell] as number
      if (target >= 0 && place >= 0) into[target] = (into[target] as number) + base + packedAt(bytes, from, place, bits)
    }
  }

  /** As addColumn, for counts: whole numbers of at most 24 bits, which are added several times as fast. */
  addCounts(column: number, count: number, into: Int32Array, to: Int32Array): void {
    const start = this.#starts[column] as number
    if (column >= this.#written || start === 0) return
    const kind = this.#kinds[column] as number
    const bits = widths[kind & 15] as number
    if (bits > 24 || (kind & hasUnknown) !== 0) throw broken('has a count that is unknown or too large')
    this.#at = start + 1
    const base = this.#base(kind)
    if ((kind & isSparse) !== 0) {
      if (base !== 0) this.#addBase(base, count, into, to)
      this.#addOdd(base, bits / 8, count, into, to)
    } else if (this.#bitsAt === 0) {
      addSmall(this.#bytes, this.#at, this.#first, bits, base, count, into, to)
    } else {
      const [bytes, from] = [this.#bytes, this.#at]
      for (let cell = 0; cell < count; cell++) {
        const place = this.#placeOf(cell)
        const target = to[cell] as number
        if (target >= 0 && place >= 0)
          into[target] = (into[target] as number) + base + packedAt(bytes, from, place, bits)
      }
    }
  }

  /**
   * Adds what the chosen cells have beyond the column's base, to `small`, or to `large` where few cells differ from it. The result is the base, which the
   * caller adds for every cell. Undefined: this column is not stored like that, and nothing was added.
   */
  addBeyondBase(
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
    if ((kind & isSparse) !== 0) this.#addOdd(base, bits / 8, count, large, to)
    else if (bits > 0) addSmall(this.#bytes, this.#at, this.#first, bits, 0, count, small, to)
    return base
  }

  #base(kind: number): number {
    const magnitude = this.#varint()
    return (kind & isNegative) === 0 ? magnitude : -magnitude
  }

  #addBase(base: number, count: number, into: Float64Array | Int32Array, to: Int32Array): void {
    for (let cell = 0; cell < count; cell++) {
      const target = to[cell] as number
      if (target >= 0 && this.#placeOf(cell) >= 0) into[target] = (into[target] as number) + base
    }
  }

  /** The cells that differ from the base, as their difference from it. */
  #addOdd(base: number, size: number, count: number, into: Float64Array | Int32Array, to: Int32Array): void {
    const bytes = this.#bytes
    const odd = this.#varint()
    const isBelow = bytes[this.#at++] === 1
    const magnitude = this.#varint()
    const oddLeast = (isBelow ? -magnitude : magnitude) - base
    const placeSize = placeBytes(this.#present)
    const placesAt = this.#at
    const valuesAt = placesAt + odd * placeSize
    // Chosen places rise, and so do those in the list: both are walked through at once, from the first that can matter.
    let cell = 0
    while (cell < count && this.#placeOf(cell) < 0) cell += 1
    if (cell === count) return
    let entry = this.#firstEntry(placesAt, placeSize, odd, this.#placeOf(cell))
    for (; entry < odd; entry++) {
      const at = placesAt + entry * placeSize
      const place = placeSize === 1 ? (bytes[at] as number) : littleAt(bytes, at, placeSize)
      if (this.#bitsAt === 0) cell = place - this.#first
      else while (cell < count && this.#placeOf(cell) < place) cell += 1
      if (cell >= count) return
      const target = to[cell] as number
      if (target < 0 || this.#placeOf(cell) !== place) continue
      into[target] = (into[target] as number) + oddLeast + littleAt(bytes, valuesAt + entry * size, size)
    }
  }

  /** The first entry of a list of rising places that is not below this one. */
  #firstEntry(placesAt: number, placeSize: number, count: number, place: number): number {
    let low = 0
    let high = count
    while (low < high) {
      const middle = (low + high) >> 1
      if (littleAt(this.#bytes, placesAt + middle * placeSize, placeSize) < place) low = middle + 1
      else high = middle
    }
    return low
  }

  #addUnknown(count: number, into: Float64Array, to: Int32Array, isUnknown: (place: number) => boolean): void {
    for (let cell = 0; cell < count; cell++) {
      const place = this.#placeOf(cell)
      const target = to[cell] as number
      if (place >= 0 && target >= 0 && isUnknown(place)) into[target] = Number.NaN
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

  #little(size: number): number {
    const value = littleAt(this.#bytes, this.#at, size)
    this.#at += size
    return value
  }
}

/** An unsigned number, lowest byte first. */
function littleAt(bytes: Uint8Array, at: number, size: number): number {
  let value = bytes[at] as number
  if (size > 1) value |= (bytes[at + 1] as number) << 8
  if (size > 2) value |= (bytes[at + 2] as number) << 16
  let scale = 2 ** 24
  for (let byte = 3; byte < size; byte++) {
    value += (bytes[at + byte] as number) * scale
    scale *= 256
  }
  return value
}

/** The number at a place of a dense column. */
function packedAt(bytes: Uint8Array, from: number, place: number, bits: number): number {
  if (bits >= 8) return littleAt(bytes, from + place * (bits >> 3), bits >> 3)
  const bit = place * bits
  return bits === 0 ? 0 : ((bytes[from + (bit >> 3)] as number) >> (bit & 7)) & ((1 << bits) - 1)
}

/**
 * Adds cells of a dense column whose cells are all present and take at most 24 bits. A loop for each width, over 32-bit numbers: most of the time of a
 * large answer is spent here, and the same loops over doubles take three times as long.
 */
function addSmall(
  bytes: Uint8Array,
  from: number,
  first: number,
  bits: number,
  base: number,
  count: number,
  into: Int32Array,
  to: Int32Array,
): void {
  const mask = (1 << bits) - 1
  for (let cell = 0; cell < count; ) {
    const target = to[cell] as number
    let sum = 0
    // Cells that go to the same place stand side by side: they are added up before memory is written.
    do {
      const bit = (first + cell) * bits
      const at = from + (bit >> 3)
      if (bits < 8) sum += ((bytes[at] as number) >> (bit & 7)) & mask
      else {
        sum += bytes[at] as number
        if (bits > 8) sum += (bytes[at + 1] as number) << 8
        if (bits > 16) sum += (bytes[at + 2] as number) << 16
      }
      sum += base
      cell += 1
    } while (cell < count && to[cell] === target)
    if (target >= 0) into[target] = (into[target] as number) + sum
  }
}

/** By the low half of a column's kind. */
const spans = Float64Array.from(widths, (bits) => 2 ** bits)

const bitCounts = Uint8Array.from({ length: 256 }, (_, byte) => byte.toString(2).replaceAll('0', '').length)

/** Adds a whole chunk to cells of the same number: present where either is. */
export function addChunk(reader: ChunkReader, bytes: Uint8Array, into: Cells): void {
  reader.open(bytes)
  assert.equal(reader.cells, into.count, 'a chunk of duties has another number of cells than its level')
  addCells(reader, into, 0, into.count, identity(into.count))
}

/** Adds `count` cells of the open chunk from `first` on: number n of them goes to cell `to[n]`. */
export function addCells(reader: ChunkReader, into: Cells, first: number, count: number, to: Int32Array): void {
  if (!reader.choose(first, count)) return
  for (let cell = 0; cell < count; cell++) {
    const target = to[cell] as number
    if (target >= 0 && reader.isPresent(first + cell)) into.isPresent[target] = 1
  }
  for (const column of reader.used.subarray(0, reader.usedCount)) {
    reader.addColumn(column, count, into.columns[column] as Float64Array, to)
    into.isUsed[column] = 1
  }
}

let counting = new Int32Array(0)
function identity(count: number): Int32Array {
  if (counting.length < count) counting = Int32Array.from({ length: count }, (_, at) => at)
  return counting
}
