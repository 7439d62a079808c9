// Numbers in the columns of a packed row: little-endian, or packed with a few bits each (row-format.ts).
import { widths } from './row-format.ts'

/** Little-endian unsigned number. */
export function uintAt(bytes: Uint8Array, at: number, size: number): number {
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

/** The number of a cell in a dense column. */
export function packedAt(bytes: Uint8Array, from: number, rank: number, bits: number): number {
  if (bits >= 8) return uintAt(bytes, from + rank * (bits >> 3), bits >> 3)
  const bit = rank * bits
  return bits === 0 ? 0 : ((bytes[from + (bit >> 3)] as number) >> (bit & 7)) & ((1 << bits) - 1)
}

/**
 * Adds cells of a dense column with at most 24 bits, if all cells are present. Large queries spend most of their time
 * here; the same loop over doubles takes three times as long.
 */
export function addNarrow(
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
    // Neighbouring cells often have the same target: add them up before writing to memory.
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

/** 2 to the power of each width of a dense column. */
export const valueLimits = Float64Array.from(widths, (bits) => 2 ** bits)

/** How many bits of a byte are set. */
export const bitCounts = Uint8Array.from({ length: 256 }, (_, byte) => byte.toString(2).replaceAll('0', '').length)
