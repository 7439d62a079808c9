// Packed rows of blocks: a block is 50 records with neighbouring numbers (market_records.number). A row has one compressed
// text with a line for each record, so that the JSON of the others is not parsed to read one of them.
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'

/** Their places in a block are the bits of a whole number that is exact. */
export const blockSize = 50
/** Far more than a block has. */
const bytesMax = 256 * 2 ** 20

export const blockOf = (number: number): number => Math.floor(number / blockSize)
export const numberAt = (block: number, slot: number): number => block * blockSize + slot
export const slotOf = (number: number): number => number % blockSize
export const bitOf = (number: number): number => 2 ** slotOf(number)

/** The place of a record in its block, and what is packed about it. JSON has no tab and no line end. */
export type PackedLine = readonly [slot: number, ...parts: (string | number)[]]

/** The fastest level: a fifth smaller than with deflate, in half of the time. */
const compression = { params: { [constants.ZSTD_c_compressionLevel]: 1 } }

export const packLines = (lines: readonly PackedLine[]): Uint8Array =>
  zstdCompressSync(lines.map((line) => line.join('\t')).join('\n'), compression)

/** Those of all records, or of one. */
export function unpackLines(packed: Uint8Array, slot?: number): string[][] {
  const lines = zstdDecompressSync(packed, { maxOutputLength: bytesMax }).toString().split('\n')
  const start = `${slot}\t`
  return (slot === undefined ? lines : lines.filter((line) => line.startsWith(start))).map((line) => line.split('\t'))
}
