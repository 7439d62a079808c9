// Adds up the measures of all validators over the epochs of one segment (behaviour/validators.md#days-and-hours). There
// is one array per measure, so memory does not grow with the number of epochs.
import { recordFrom } from '#core/record-from.ts'
import type { Segment, SumColumns } from '#validators/duties/write.ts'
import { counts, type Measure, measures } from '#validators/method/measures.ts'

export class Sums {
  #count = 0
  #isPresent = new Uint8Array(0)
  #columns = newColumns(0)

  ensureCapacity(count: number): void {
    if (count <= this.#count) return
    // Spare capacity, so that a growing network is rarely copied.
    const capacity = Math.ceil(count * 1.05) + 64
    const before = this.#columns
    this.#columns = newColumns(capacity)
    for (const name of measures) this.#columns[name].set(before[name])
    const isPresent = new Uint8Array(capacity)
    isPresent.set(this.#isPresent)
    this.#isPresent = isPresent
    this.#count = capacity
  }

  /** For loops over all validators. Call `mark` for each written row. Valid until the next call of `ensureCapacity`. */
  get columns(): SumColumns {
    return this.#columns
  }

  /** 1 for each validator that has a row. Valid until the next call of `ensureCapacity`. */
  get isPresent(): Uint8Array {
    return this.#isPresent
  }

  /** Adds a row for the validator, even if all its measures are zero. */
  mark(validator: number): void {
    this.#isPresent[validator] = 1
  }

  add(name: Measure, validator: number, value: number): void {
    if (value === 0) return
    const column = this.#columns[name]
    column[validator] = (column[validator] as number) + value
    this.#isPresent[validator] = 1
  }

  /**
   * Returns the sums of the validators to store, in ascending order, and starts with new buffers. The caller owns the
   * returned buffers and may transfer them to another thread.
   */
  take(isKept: (validator: number) => boolean = () => true): Pick<Segment, 'validator' | 'sums'> {
    const kept = new Int32Array(this.#count)
    let count = 0
    for (let validator = 0; validator < this.#count; validator++) {
      if (this.#isPresent[validator] === 1 && isKept(validator)) kept[count++] = validator
    }
    const validator = kept.subarray(0, count)
    const columns = this.#columns
    this.#columns = newColumns(this.#count)
    this.#isPresent.fill(0)
    return { validator, sums: recordFrom(measures, (name) => compactColumn(columns[name], validator)) }
  }

  clear(): void {
    // New columns take no memory until they are written to. Filling the old ones with zeros would use all of it.
    if (this.#isPresent.includes(1)) this.#columns = newColumns(this.#count)
    this.#isPresent.fill(0)
  }
}

type Column = SumColumns[Measure]

const int32Measures = new Set<Measure>(counts)

/**
 * All columns share one buffer, 8-byte ones first. Operating systems release large allocations at once and count only
 * pages that were written to, while allocators keep blocks of a few megabytes.
 */
function newColumns(count: number): SumColumns {
  const wide = measures.length - int32Measures.size
  const buffer = new ArrayBuffer(count * (8 * wide + 4 * int32Measures.size))
  let at = 0
  const next = <C extends Column>(make: new (buffer: ArrayBuffer, at: number, count: number) => C): C => {
    const column = new make(buffer, at, count)
    at += column.byteLength
    return column
  }
  const wides = new Map(measures.filter((name) => !int32Measures.has(name)).map((name) => [name, next(Float64Array)]))
  return recordFrom(measures, (name) => wides.get(name) ?? next(Int32Array))
}

/**
 * Works in place to avoid a second copy of a million validators. It does not overwrite zeros with zeros: most columns
 * are sparse, and pages that are never written to take no memory. For a short watch list it returns small copies.
 */
function compactColumn(column: Column, validator: Int32Array): Column {
  for (let at = 0; at < validator.length; at++) {
    const value = column[validator[at] as number] as number
    if (column[at] !== value) column[at] = value
  }
  return validator.length * 4 < column.length ? column.slice(0, validator.length) : column.subarray(0, validator.length)
}
