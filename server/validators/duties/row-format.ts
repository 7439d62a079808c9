// The binary format of duties: a table of cells × columns of whole numbers, packed column by column. All levels (hours,
// days, spans of days) and missed duties use it; they differ in what a cell is (layout.ts).
//
// 1. A cell is present or absent. Absent is not zero: only present cells have values.
// 2. A column that is zero in all cells takes one bit. Any other column is dense or sparse, whichever is smaller.
//    Dense: a base, and for each present cell an unsigned number of 0 to 56 bits above it. Sparse: a base that most
//    cells have, and a list of the cells that differ (outliers), by their rank (index among the present cells).
// 3. A value can be unknown: NaN in memory, so that a sum with it is unknown too; a bit per present cell in the packed row.
// 4. Every packed row has the format version, its number of columns and a checksum. If it has fewer columns than the reader
//    expects, it was written before they existed: their values are unknown.
//
// Bytes: version · columns · checksum (4; CRC-32 of all that follows, with the number of columns as start value) ·
// cells (4) · presence (0: all present; 1: a bit per cell follows) · a bit per column (1: not all zero) · for each such
// column its kind, unknown cells if any, base and values.
export const formatVersion = 1
export const checksumFrom = 6

/** Bits of a value, by the low half of a column's kind. 0: all cells have the base. */
export const widths = [0, 1, 2, 4, 8, 16, 24, 32, 56] as const
export const isSparse = 16
export const hasUnknown = 32
export const isNegative = 128
export const byteWidth = 4

/** Bytes of a rank. */
export const rankBytes = (present: number): number => (present <= 256 ? 1 : present <= 65_536 ? 2 : 4)

/** Cells in memory: packed rows are packed from them and added up in them. */
export class Cells {
  readonly count: number
  readonly isPresent: Uint8Array
  readonly columns: readonly Float64Array[]
  /** Columns that may hold something other than zero. */
  readonly isUsed: Uint8Array

  constructor(count: number, columns: number) {
    this.count = count
    this.isPresent = new Uint8Array(count)
    this.columns = Array.from({ length: columns }, () => new Float64Array(count))
    this.isUsed = new Uint8Array(columns)
  }

  clear(): void {
    this.isPresent.fill(0)
    for (let column = 0; column < this.isUsed.length; column++) {
      if (this.isUsed[column] === 0) continue
      this.columns[column]?.fill(0)
      this.isUsed[column] = 0
    }
  }

  add(cell: number, column: number, value: number): void {
    if (value === 0) return
    const values = this.columns[column] as Float64Array
    values[cell] = (values[cell] as number) + value
    this.isUsed[column] = 1
  }
}
