// Measures of all validators, added up over the epochs of one piece (decision 0034). One array per measure, which goes with
// the piece when it is taken: the memory does not grow with the number of epochs.
import type { Segment, SumColumns } from '../duties/write.ts'
import { counts, type Measure, measures } from '../measures.ts'

export class Sums {
  #count = 0
  #isThere = new Uint8Array(0)
  #columns = columnsOf(0)

  /** Room for this many validators. */
  reach(count: number): void {
    if (count <= this.#count) return
    // Networks grow slowly: some room ahead, so that this is rare.
    const room = Math.ceil(count * 1.05) + 64
    const before = this.#columns
    this.#columns = columnsOf(room)
    for (const name of measures) this.#columns[name].set(before[name])
    const isThere = new Uint8Array(room)
    isThere.set(this.#isThere)
    this.#isThere = isThere
    this.#count = room
  }

  /** For loops over everyone; whoever writes here must also mark. Good until `reach` makes more room. */
  get columns(): SumColumns {
    return this.#columns
  }

  /** Gives the validator a row, also when all of it is zero. */
  mark(validator: number): void {
    this.#isThere[validator] = 1
  }

  add(name: Measure, validator: number, value: number): void {
    if (value === 0) return
    const column = this.#columns[name]
    column[validator] = (column[validator] as number) + value
    this.#isThere[validator] = 1
  }

  /**
   * The sums of those that are kept, in rising order. They are the caller's from now on, buffers and all, and may go to another
   * thread; what is added next goes into new ones.
   */
  take(isKept: (validator: number) => boolean = () => true): Pick<Segment, 'validator' | 'sums'> {
    const kept = new Int32Array(this.#count)
    let count = 0
    for (let validator = 0; validator < this.#count; validator++) {
      if (this.#isThere[validator] === 1 && isKept(validator)) kept[count++] = validator
    }
    const validator = kept.subarray(0, count)
    const columns = this.#columns
    this.#columns = columnsOf(this.#count)
    this.#isThere.fill(0)
    return { validator, sums: mapMeasures((name) => movedUp(columns[name], validator)) }
  }

  clear(): void {
    // Most of what is new is never written to, and takes no memory until it is; columns that were filled with zeros would take all of it.
    if (this.#isThere.includes(1)) this.#columns = columnsOf(this.#count)
    this.#isThere.fill(0)
  }
}

type Column = SumColumns[Measure]

const mapMeasures = (of: (name: Measure) => Column): SumColumns =>
  Object.fromEntries(measures.map((name) => [name, of(name)])) as Record<Measure, Column>

const narrow = new Set<Measure>(counts)

/**
 * All in one buffer, wide ones first. Systems hand out large pieces of memory whole, take them back whole, and count only what of them was
 * written to; pieces of a few megabytes they gather and keep.
 */
function columnsOf(count: number): SumColumns {
  const wide = measures.length - narrow.size
  const buffer = new ArrayBuffer(count * (8 * wide + 4 * narrow.size))
  let at = 0
  const next = <C extends Column>(make: new (buffer: ArrayBuffer, at: number, count: number) => C): C => {
    const column = new make(buffer, at, count)
    at += column.byteLength
    return column
  }
  const wides = new Map(measures.filter((name) => !narrow.has(name)).map((name) => [name, next(Float64Array)]))
  return mapMeasures((name) => wides.get(name) ?? next(Int32Array))
}

/**
 * In place: with a million validators there is no room for a second copy. Zeros are not written over zeros, because few columns have
 * more than a few figures, and memory that nobody wrote to is none. A short watch list gets arrays of its size.
 */
function movedUp(column: Column, validator: Int32Array): Column {
  for (let at = 0; at < validator.length; at++) {
    const value = column[validator[at] as number] as number
    if (column[at] !== value) column[at] = value
  }
  return validator.length * 4 < column.length ? column.slice(0, validator.length) : column.subarray(0, validator.length)
}
