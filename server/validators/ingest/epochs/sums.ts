// Measures of all validators, added up over the epochs of one piece (behaviour/validators.md#days-and-hours). One array per measure, which goes with
// the piece when it is taken: the memory does not grow with the number of epochs.
import type { Segment, SumColumns } from '#validators/duties/write.ts'
import { counts, type Measure, measures } from '#validators/ratings/measures.ts'

export class Sums {
  #count = 0
  #isPresent = new Uint8Array(0)
  #columns = newColumns(0)

  /** Room for this many validators. */
  ensureCapacity(count: number): void {
    if (count <= this.#count) return
    // Networks grow slowly: some room ahead, so that this is rare.
    const capacity = Math.ceil(count * 1.05) + 64
    const before = this.#columns
    this.#columns = newColumns(capacity)
    for (const name of measures) this.#columns[name].set(before[name])
    const isPresent = new Uint8Array(capacity)
    isPresent.set(this.#isPresent)
    this.#isPresent = isPresent
    this.#count = capacity
  }

  /** For loops over everyone; whoever writes here must also mark. Good until `reach` makes more room. */
  get columns(): SumColumns {
    return this.#columns
  }

  /** Gives the validator a row, also when all of it is zero. */
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
   * The sums of those that are kept, in rising order. They are the caller's from now on, buffers and all, and may go to another
   * thread; what is added next goes into new ones.
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
    return { validator, sums: mapMeasures((name) => compactColumn(columns[name], validator)) }
  }

  clear(): void {
    // Most of what is new is never written to, and takes no memory until it is; columns that were filled with zeros would take all of it.
    if (this.#isPresent.includes(1)) this.#columns = newColumns(this.#count)
    this.#isPresent.fill(0)
  }
}

type Column = SumColumns[Measure]

const mapMeasures = (of: (name: Measure) => Column): SumColumns =>
  Object.fromEntries(measures.map((name) => [name, of(name)])) as Record<Measure, Column>

const int32Measures = new Set<Measure>(counts)

/**
 * All in one buffer, wide ones first. Systems hand out large pieces of memory whole, take them back whole, and count only what of them was
 * written to; pieces of a few megabytes they gather and keep.
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
  return mapMeasures((name) => wides.get(name) ?? next(Int32Array))
}

/**
 * In place: with a million validators there is no room for a second copy. Zeros are not written over zeros, because few columns have
 * more than a few figures, and memory that nobody wrote to is none. A short watch list gets arrays of its size.
 */
function compactColumn(column: Column, validator: Int32Array): Column {
  for (let at = 0; at < validator.length; at++) {
    const value = column[validator[at] as number] as number
    if (column[at] !== value) column[at] = value
  }
  return validator.length * 4 < column.length ? column.slice(0, validator.length) : column.subarray(0, validator.length)
}
