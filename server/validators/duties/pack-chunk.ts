// Packs cells into the bytes of a chunk (chunk-format.ts).
import { strict as assert } from 'node:assert'
import { crc32 } from 'node:zlib'
import {
  byteWidth,
  type Cells,
  checkedFrom,
  formatVersion,
  hasUnknown,
  isNegative,
  isSparse,
  placeBytes,
  widths,
} from './chunk-format.ts'

/** Grows as needed; `take` copies what was written. */
class Output {
  #bytes = new Uint8Array(65_536)
  at = 0

  get bytes(): Uint8Array {
    return this.#bytes
  }

  ensure(more: number): void {
    if (this.at + more <= this.#bytes.length) return
    const wider = new Uint8Array(Math.max(this.#bytes.length * 2, this.at + more))
    wider.set(this.#bytes.subarray(0, this.at))
    this.#bytes = wider
  }

  varint(value: number): void {
    let rest = value
    while (rest >= 128) {
      this.#bytes[this.at++] = (rest % 128) + 128
      rest = Math.floor(rest / 128)
    }
    this.#bytes[this.at++] = rest
  }

  /** An unsigned number, lowest byte first. */
  little(value: number, size: number): void {
    const bytes = this.#bytes
    bytes[this.at++] = value & 255
    if (size > 1) bytes[this.at++] = (value >>> 8) & 255
    if (size > 2) bytes[this.at++] = (value >>> 16) & 255
    let rest = Math.floor(value / 2 ** 24)
    for (let byte = 3; byte < size; byte++) {
      bytes[this.at++] = rest % 256
      rest = Math.floor(rest / 256)
    }
  }
}

const output = new Output()
let packed = new Float64Array(1024)

/** The cells as bytes, which are the caller's own. */
export function packCells(cells: Cells): Uint8Array {
  const { count, isPresent, columns } = cells
  let present = 0
  for (let cell = 0; cell < count; cell++) present += isPresent[cell] as number
  if (packed.length < present) packed = new Float64Array(present * 2)
  output.at = 0
  output.ensure(64 + count + columns.length)
  const { bytes } = output
  bytes[0] = formatVersion
  bytes[1] = columns.length
  output.at = checkedFrom
  output.little(count, 4)
  bytes[output.at++] = present === count ? 0 : 1
  if (present < count) packBits(isPresent)
  const bitsAt = output.at
  const bitBytes = Math.ceil(columns.length / 8)
  bytes.fill(0, bitsAt, bitsAt + bitBytes)
  output.at += bitBytes
  for (let column = 0; column < columns.length; column++) {
    if (cells.isUsed[column] === 0 || !packColumn(columns[column] as Float64Array, isPresent, present)) continue
    const at = bitsAt + (column >> 3)
    output.bytes[at] = (output.bytes[at] as number) | (1 << (column & 7))
  }
  const end = output.at
  const sum = crc32(output.bytes.subarray(checkedFrom, end), columns.length)
  output.at = 2
  output.little(sum, 4)
  return output.bytes.slice(0, end)
}

function packBits(flags: Uint8Array): void {
  const { bytes } = output
  const length = Math.ceil(flags.length / 8)
  bytes.fill(0, output.at, output.at + length)
  for (let cell = 0; cell < flags.length; cell++) {
    const at = output.at + (cell >> 3)
    if (flags[cell] === 1) bytes[at] = (bytes[at] as number) | (1 << (cell & 7))
  }
  output.at += length
}

/** False: every present cell is zero, and nothing was written. */
function packColumn(values: Float64Array, isPresent: Uint8Array, present: number): boolean {
  let count = 0
  let least = Number.POSITIVE_INFINITY
  let most = Number.NEGATIVE_INFINITY
  // The value of most cells, if there is one: every other value takes a vote away from it.
  let common = 0
  let votes = 0
  let unknown = 0
  for (let cell = 0; cell < values.length; cell++) {
    if (isPresent[cell] === 0) continue
    let value = values[cell] as number
    if (Number.isNaN(value)) {
      unknown |= hasUnknown
      value = 0
    }
    packed[count++] = value
    if (value < least) least = value
    if (value > most) most = value
    if (votes === 0) common = value
    votes += value === common ? 1 : -1
  }
  if (count === 0 || (least === 0 && most === 0 && unknown === 0)) return false
  if (!(Number.isSafeInteger(least) && Number.isSafeInteger(most) && Number.isSafeInteger(most - least)))
    assert.fail(`values from ${least} to ${most} are not exact whole numbers`)
  output.ensure(64 + present * 10)
  const width = widthFor(most - least)
  const dense = Math.ceil((present * (widths[width] as number)) / 8)
  let odd = 0
  let oddLeast = Number.POSITIVE_INFINITY
  let oddMost = Number.NEGATIVE_INFINITY
  for (let at = 0; at < present; at++) {
    const value = packed[at] as number
    if (value === common) continue
    odd += 1
    if (value < oddLeast) oddLeast = value
    if (value > oddMost) oddMost = value
  }
  if (odd > 0) {
    const oddWidth = Math.max(byteWidth, widthFor(oddMost - oddLeast))
    const oddBytes = (widths[oddWidth] as number) / 8
    if (odd * (placeBytes(present) + oddBytes) + 6 < dense) {
      writeKind(oddWidth | isSparse | unknown, common, values, isPresent)
      packSparse(present, common, odd, oddLeast, oddWidth)
      return true
    }
  }
  writeKind(width | unknown, least, values, isPresent)
  packDense(present, least, widths[width] as number)
  return true
}

function widthFor(most: number): number {
  for (let width = 0; width < widths.length; width++) if (most < 2 ** (widths[width] as number)) return width
  return assert.fail(`${most} takes more than 56 bits`)
}

/** Kind, unknown cells and base. */
function writeKind(kind: number, base: number, values: Float64Array, isPresent: Uint8Array): void {
  output.bytes[output.at++] = base < 0 ? kind | isNegative : kind
  if ((kind & hasUnknown) !== 0) packBits(unknownAmong(values, isPresent))
  output.varint(Math.abs(base))
}

const unknownAmong = (values: Float64Array, isPresent: Uint8Array): Uint8Array =>
  Uint8Array.from(
    values.filter((_, cell) => isPresent[cell] === 1),
    (value) => (Number.isNaN(value) ? 1 : 0),
  )

function packDense(present: number, least: number, bits: number): void {
  const { bytes } = output
  if (bits >= 8) {
    for (let at = 0; at < present; at++) output.little((packed[at] as number) - least, bits / 8)
    return
  }
  if (bits === 0) return
  const length = Math.ceil((present * bits) / 8)
  bytes.fill(0, output.at, output.at + length)
  for (let at = 0; at < present; at++) {
    const bit = at * bits
    const place = output.at + (bit >> 3)
    bytes[place] = (bytes[place] as number) | (((packed[at] as number) - least) << (bit & 7))
  }
  output.at += length
}

function packSparse(present: number, common: number, odd: number, oddLeast: number, oddWidth: number): void {
  output.varint(odd)
  output.bytes[output.at++] = oddLeast < 0 ? 1 : 0
  output.varint(Math.abs(oddLeast))
  const size = placeBytes(present)
  for (let at = 0; at < present; at++) if (packed[at] !== common) output.little(at, size)
  const oddBytes = (widths[oddWidth] as number) / 8
  for (let at = 0; at < present; at++)
    if (packed[at] !== common) output.little((packed[at] as number) - oddLeast, oddBytes)
}
