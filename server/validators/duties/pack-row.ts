// Packs cells into the bytes of a packed row (row-format.ts).
import { strict as assert } from 'node:assert'
import { crc32 } from 'node:zlib'
import {
  byteWidth,
  type Cells,
  checksumFrom,
  formatVersion,
  hasUnknown,
  isNegative,
  isSparse,
  rankBytes,
  widths,
} from './row-format.ts'

/** A buffer that grows as needed. */
class Output {
  #bytes = new Uint8Array(65_536)
  at = 0

  get bytes(): Uint8Array {
    return this.#bytes
  }

  ensure(more: number): void {
    if (this.at + more <= this.#bytes.length) return
    const grown = new Uint8Array(Math.max(this.#bytes.length * 2, this.at + more))
    grown.set(this.#bytes.subarray(0, this.at))
    this.#bytes = grown
  }

  varint(value: number): void {
    let rest = value
    while (rest >= 128) {
      this.#bytes[this.at++] = (rest % 128) + 128
      rest = Math.floor(rest / 128)
    }
    this.#bytes[this.at++] = rest
  }

  /** Little-endian unsigned number. */
  uint(value: number, size: number): void {
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

/** Returns a copy that belongs to the caller. */
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
  output.at = checksumFrom
  output.uint(count, 4)
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
  const checksum = crc32(output.bytes.subarray(checksumFrom, end), columns.length)
  output.at = 2
  output.uint(checksum, 4)
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
  let min = Number.POSITIVE_INFINITY
  let max = Number.NEGATIVE_INFINITY
  // Majority vote (Boyer–Moore): `common` is the value of more than half of the cells, if there is one.
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
    if (value < min) min = value
    if (value > max) max = value
    if (votes === 0) common = value
    votes += value === common ? 1 : -1
  }
  if (count === 0 || (min === 0 && max === 0 && unknown === 0)) return false
  if (!(Number.isSafeInteger(min) && Number.isSafeInteger(max) && Number.isSafeInteger(max - min)))
    assert.fail(`values from ${min} to ${max} are not exact whole numbers`)
  output.ensure(64 + present * 10)
  const width = widthFor(max - min)
  const denseBytes = Math.ceil((present * (widths[width] as number)) / 8)
  let outliers = 0
  let outlierMin = Number.POSITIVE_INFINITY
  let outlierMax = Number.NEGATIVE_INFINITY
  for (let at = 0; at < present; at++) {
    const value = packed[at] as number
    if (value === common) continue
    outliers += 1
    if (value < outlierMin) outlierMin = value
    if (value > outlierMax) outlierMax = value
  }
  if (outliers > 0) {
    const outlierWidth = Math.max(byteWidth, widthFor(outlierMax - outlierMin))
    const outlierBytes = (widths[outlierWidth] as number) / 8
    if (outliers * (rankBytes(present) + outlierBytes) + 6 < denseBytes) {
      writeKind(outlierWidth | isSparse | unknown, common, values, isPresent)
      packSparse(present, common, outliers, outlierMin, outlierWidth)
      return true
    }
  }
  writeKind(width | unknown, min, values, isPresent)
  packDense(present, min, widths[width] as number)
  return true
}

function widthFor(max: number): number {
  for (let width = 0; width < widths.length; width++) if (max < 2 ** (widths[width] as number)) return width
  return assert.fail(`${max} takes more than 56 bits`)
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

function packDense(present: number, min: number, bits: number): void {
  const { bytes } = output
  if (bits >= 8) {
    for (let at = 0; at < present; at++) output.uint((packed[at] as number) - min, bits / 8)
    return
  }
  if (bits === 0) return
  const length = Math.ceil((present * bits) / 8)
  bytes.fill(0, output.at, output.at + length)
  for (let at = 0; at < present; at++) {
    const bit = at * bits
    const byteAt = output.at + (bit >> 3)
    bytes[byteAt] = (bytes[byteAt] as number) | (((packed[at] as number) - min) << (bit & 7))
  }
  output.at += length
}

function packSparse(present: number, common: number, outliers: number, outlierMin: number, outlierWidth: number): void {
  output.varint(outliers)
  output.bytes[output.at++] = outlierMin < 0 ? 1 : 0
  output.varint(Math.abs(outlierMin))
  const size = rankBytes(present)
  for (let at = 0; at < present; at++) if (packed[at] !== common) output.uint(at, size)
  const outlierBytes = (widths[outlierWidth] as number) / 8
  for (let at = 0; at < present; at++)
    if (packed[at] !== common) output.uint((packed[at] as number) - outlierMin, outlierBytes)
}
