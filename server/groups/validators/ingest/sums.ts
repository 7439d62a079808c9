// Measures of all validators, added up over the epochs of one piece (decision 0034). One array per measure, which goes with
// the piece when it is taken: the memory does not grow with the number of epochs.
import type { PieceBatch } from '../duties.ts'
import type { SumColumns } from '../duty-tables.ts'
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
  take(isKept: (validator: number) => boolean = () => true): Pick<PieceBatch, 'validator' | 'sums'> {
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
    this.#isThere.fill(0)
    for (const name of measures) this.#columns[name].fill(0)
  }
}

type Column = SumColumns[Measure]

const mapMeasures = (of: (name: Measure) => Column): SumColumns =>
  Object.fromEntries(measures.map((name) => [name, of(name)])) as Record<Measure, Column>

const narrow = new Set<Measure>(counts)

const columnsOf = (count: number): SumColumns =>
  mapMeasures((name) => (narrow.has(name) ? new Int32Array(count) : new Float64Array(count)))

/** In place: with a million validators there is no room for a second copy. A short watch list gets arrays of its size. */
function movedUp(column: Column, validator: Int32Array): Column {
  for (let at = 0; at < validator.length; at++) column[at] = column[validator[at] as number] as number
  return validator.length * 4 < column.length ? column.slice(0, validator.length) : column.subarray(0, validator.length)
}
