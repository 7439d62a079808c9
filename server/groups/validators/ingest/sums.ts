// Measures of all validators, added up over the epochs of one piece (decision 0034). One array per measure, used again for
// the next piece: the memory does not grow with the number of epochs.
import type { PieceBatch } from '../duties.ts'
import { type Measure, measures } from '../measures.ts'

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
  get columns(): Readonly<Record<Measure, Float64Array>> {
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

  /** The sums of those that are kept, in rising order. */
  rows(isKept: (validator: number) => boolean = () => true): Pick<PieceBatch, 'validator' | 'sums'> {
    const kept = new Int32Array(this.#count)
    let count = 0
    for (let validator = 0; validator < this.#count; validator++) {
      if (this.#isThere[validator] === 1 && isKept(validator)) kept[count++] = validator
    }
    const validator = kept.slice(0, count)
    const picked = (name: Measure): Float64Array => {
      const column = this.#columns[name]
      const values = new Float64Array(count)
      for (let at = 0; at < count; at++) values[at] = column[validator[at] as number] as number
      return values
    }
    return {
      validator,
      sums: Object.fromEntries(measures.map((name) => [name, picked(name)])) as Record<Measure, Float64Array>,
    }
  }

  clear(): void {
    this.#isThere.fill(0)
    for (const name of measures) this.#columns[name].fill(0)
  }
}

const columnsOf = (count: number): Record<Measure, Float64Array> =>
  Object.fromEntries(measures.map((name) => [name, new Float64Array(count)])) as Record<Measure, Float64Array>
