// The arithmetic of sumRecords: adds rows to sums by window, and computes scores.
import { recordFrom } from '#core/record-from.ts'
import { measures } from '../method/measures.ts'
import { addScores, type Score, type ScoreTotals, scoreMeasures } from '../method/method.ts'
import { columnsFor, countsToMeasures, toMeasures } from './layout.ts'
import { RowReader } from './packed-row.ts'
import type { Grain, RecordQuery, UnitSelection } from './record-query.ts'
import { columnNames, type RecordSums, recordSums, type SumInput } from './record-sums.ts'

/**
 * Adds up rows into records. The columns that scores are computed from are added up by grain, for one validator at a
 * time. All other columns are added to their window directly.
 */
export class RecordAccumulator {
  readonly #byValidator: boolean
  readonly #wanted: SumInput['wanted']
  readonly #grains: readonly Grain[]
  /** Windows in ascending order, and for each grain the index of its window. */
  readonly #windows: number[] = []
  readonly #windowOf: Int32Array
  /** The largest number of grains in one window. */
  readonly #grainsMax: number
  readonly #byGrain: readonly number[]
  readonly #byWindow: readonly number[]
  /** Of the current validator; undefined: the column is not added up by grain. */
  readonly #grainSums: readonly (Int32Array | undefined)[]
  readonly #scoreColumns: Parameters<typeof addScores>[0]
  readonly #isPresent: Uint8Array
  /** Of the current validator, or of all validators; undefined: the column is not needed. */
  readonly #windowSums: readonly (WindowSums | undefined)[]
  readonly #scores: Readonly<Record<Score, ScoreTotals>>
  readonly #firstGrain: Int32Array
  readonly #readers: UnitRowsReader[] = []
  /** Columns of finished records (`columnNames`), with room for more. */
  #done: readonly Float64Array[]
  #doneCount = 0

  constructor({ byValidator }: RecordQuery, grains: readonly Grain[], wanted: SumInput['wanted']) {
    this.#byValidator = byValidator
    this.#wanted = wanted
    this.#grains = grains
    this.#windowOf = new Int32Array(grains.length)
    grains.forEach(({ window }, grain) => {
      if (window !== this.#windows.at(-1)) this.#windows.push(window)
      this.#windowOf[grain] = this.#windows.length - 1
    })
    const count = this.#windows.length
    this.#grainsMax = maxCellsPerWindow(this.#windowOf)
    const byGrain = columnsFor(wanted.scores.length > 0 ? scoreMeasures : [])
    const byWindow = columnsFor(wanted.measures).difference(byGrain)
    this.#byGrain = [...byGrain]
    this.#byWindow = [...byWindow]
    this.#grainSums = measures.map((_, column) => (byGrain.has(column) ? new Int32Array(grains.length) : undefined))
    this.#scoreColumns = recordFrom(scoreMeasures, (name) => this.#grainSums[measures.indexOf(name)] as Int32Array)
    this.#isPresent = new Uint8Array(grains.length)
    const summed = byWindow.union(byGrain)
    this.#windowSums = measures.map((_, column) => (summed.has(column) ? new WindowSums(count) : undefined))
    const totals = (): ScoreTotals => ({ sums: new Float64Array(count), counts: new Float64Array(count) })
    this.#scores = { attester: totals(), proposer: totals(), validator: totals() }
    this.#firstGrain = new Int32Array(count).fill(-1)
    this.#done = columnNames(wanted).map(() => new Float64Array())
  }

  /** These rows can be added with the result. */
  addUnitRows(unitRows: UnitSelection): UnitRowsReader {
    const reader = new UnitRowsReader(unitRows, this.#windowOf)
    this.#readers.push(reader)
    return reader
  }

  /** Adds the validator's cells of a row. */
  add(reader: UnitRowsReader, data: Uint8Array, validator: number): void {
    const { unitRows, windows } = reader
    const packed = reader.open(data)
    const { level, grainOfCell: grains } = unitRows
    const first = (validator % level.validators) * level.partsPerRow + unitRows.firstCell
    const count = grains.length
    if (!packed.selectCells(first, count)) return
    for (let at = 0; at < count; at++) {
      const grain = grains[at] as number
      if (grain >= 0 && packed.isPresent(first + at)) this.#isPresent[grain] = 1
    }
    for (let at = 0; at < packed.usedCount; at++) {
      const column = packed.used[at] as number
      const byGrain = this.#grainSums[column]
      const byWindow = this.#windowSums[column]
      if (byGrain) packed.addCounts(column, count, byGrain, grains)
      else if (byWindow) {
        byWindow.reserve(reader.cellsMax * packed.maxAboveBase(column))
        const base = packed.addAboveBase(column, count, byWindow.small, byWindow.large, windows)
        if (base === undefined) packed.addColumn(column, count, byWindow.large, windows)
        else reader.addBase(column, base)
      }
    }
  }

  finishValidator(validator: number): void {
    const windowOf = this.#windowOf
    for (let grain = 0; grain < windowOf.length; grain++) {
      if (this.#isPresent[grain] === 0) continue
      const window = windowOf[grain] as number
      const first = this.#firstGrain[window] as number
      if (first < 0 || grain < first) this.#firstGrain[window] = grain
    }
    this.#isPresent.fill(0)
    if (this.#byGrain.length > 0) this.#finishGrains()
    if (this.#byValidator) this.#finishWindows(validator)
  }

  #finishGrains(): void {
    const windowOf = this.#windowOf
    countsToMeasures(this.#grainSums, this.#byGrain)
    addScores(this.#scoreColumns, windowOf, this.#scores)
    for (const column of this.#byGrain) {
      const grainSums = this.#grainSums[column] as Int32Array
      const sums = this.#windowSums[column] as WindowSums
      sums.reserve(this.#grainsMax * countMax)
      addByWindow(sums.small, grainSums, windowOf)
      grainSums.fill(0)
    }
  }

  /** Moves the windows that have figures to the finished records. */
  #finishWindows(validator: number): void {
    for (const reader of this.#readers) reader.flush(this.#byWindow, this.#windowSums)
    // From the first to the last window with figures: often these are few of many hours.
    const from = Math.max(0, this.#firstGrain.findIndex(isGrain))
    const until = this.#firstGrain.findLastIndex(isGrain) + 1
    const firstGrain = this.#firstGrain.subarray(from, until)
    const sums = this.#windowSums.map((column) => column?.flush(from, until))
    toMeasures(sums, this.#byWindow)
    this.#reserveRecords(firstGrain.length)
    const [windows, validators, days, hours, ...figures] = this.#done as [
      ...[Float64Array, Float64Array, Float64Array, Float64Array],
      ...Float64Array[],
    ]
    const columns = [
      ...this.#wanted.measures.map((measure) => sums[measures.indexOf(measure)] as Float64Array),
      ...this.#wanted.scores.flatMap((score) =>
        [this.#scores[score].sums, this.#scores[score].counts].map((column) => column.subarray(from, until)),
      ),
    ]
    for (const [at, column] of columns.entries())
      copyWindows(column, firstGrain, figures[at] as Float64Array, this.#doneCount)
    for (let window = 0; window < firstGrain.length; window++) {
      if ((firstGrain[window] as number) < 0) continue
      const grain = this.#grains[firstGrain[window] as number] as Grain
      windows[this.#doneCount] = grain.window
      validators[this.#doneCount] = validator
      days[this.#doneCount] = grain.day
      hours[this.#doneCount] = grain.hour
      this.#doneCount += 1
    }
    firstGrain.fill(-1)
    for (const column of this.#windowSums) column?.large.fill(0)
    for (const { sums: scored, counts } of Object.values(this.#scores)) {
      scored.fill(0)
      counts.fill(0)
    }
  }

  #reserveRecords(more: number): void {
    const [needed, capacity] = [this.#doneCount + more, this.#done[0]?.length ?? 0]
    if (needed <= capacity) return
    this.#done = this.#done.map((column) => {
      const grown = new Float64Array(Math.max(needed, 2 * capacity))
      grown.set(column)
      return grown
    })
  }

  finish(): RecordSums {
    if (!this.#byValidator) this.#finishWindows(0)
    return recordSums(
      this.#done.map((column) => column.subarray(0, this.#doneCount)),
      this.#wanted,
    )
  }
}

const isGrain = (grain: number): boolean => grain >= 0

/** Copies the values of the windows that have figures. */
function copyWindows(values: Float64Array, firstGrain: Int32Array, into: Float64Array, from: number): void {
  let at = from
  for (let window = 0; window < values.length; window++)
    if ((firstGrain[window] as number) >= 0) into[at++] = values[window] as number
}

/** Larger than any count of one validator and day. */
const countMax = 2 ** 20

function addByWindow(into: Int32Array, values: Int32Array, windowOf: Int32Array): void {
  // With one grain in each window, no lookup is needed.
  if (into.length === values.length) {
    for (let at = 0; at < values.length; at++) into[at] = (into[at] as number) + (values[at] as number)
    return
  }
  for (let at = 0; at < values.length; at++) {
    const window = windowOf[at] as number
    into[window] = (into[window] as number) + (values[at] as number)
  }
}

/** The largest number of cells of one window. Windows ascend; negative entries are skipped. */
function maxCellsPerWindow(windows: Int32Array): number {
  let [max, count, last] = [0, 0, -1]
  for (const window of windows) {
    if (window < 0) continue
    count = window === last ? count + 1 : 1
    last = window
    max = Math.max(max, count)
  }
  return max
}

/** Sums of one column by window. Small numbers are added to 32-bit sums, which are flushed before they can overflow. */
class WindowSums {
  readonly small: Int32Array
  readonly large: Float64Array
  /** Upper limit of the small sums. */
  #bound = 0

  constructor(windows: number) {
    this.small = new Int32Array(windows)
    this.large = new Float64Array(windows)
  }

  /** Call this before adding up to `most` to a small sum. */
  reserve(most: number): void {
    this.#bound += most
    if (this.#bound < 2 ** 31) return
    this.flush()
    this.#bound = most
  }

  /** Adds the small sums to the large ones, and discards those outside of the range. Returns the large sums of the range. */
  flush(from = 0, until = this.small.length): Float64Array {
    const { small, large } = this
    for (let at = from; at < until; at++) large[at] = (large[at] as number) + (small[at] as number)
    small.fill(0)
    this.#bound = 0
    return large.subarray(from, until)
  }
}

/** Reads the rows of one unit. */
export class UnitRowsReader {
  readonly unitRows: UnitSelection
  /** The window of each of its cells; −1: skip the cell. */
  readonly windows: Int32Array
  /** The largest number of a validator's cells in one window. */
  readonly cellsMax: number
  /** By column: the sum of all validators' bases, to be added once for every cell. */
  readonly #bases = new Float64Array(measures.length)
  #hasBases = false
  readonly #row = new RowReader(measures.length)
  #data: Uint8Array | undefined

  constructor(unitRows: UnitSelection, windowOf: Int32Array) {
    this.unitRows = unitRows
    this.windows = unitRows.grainOfCell.map((grain) => (grain < 0 ? -1 : (windowOf[grain] as number)))
    this.cellsMax = maxCellsPerWindow(this.windows)
  }

  /** Opens a row once for consecutive validators that share it. */
  open(data: Uint8Array): RowReader {
    if (this.#data !== data) this.#row.open(data)
    this.#data = data
    return this.#row
  }

  addBase(column: number, base: number): void {
    this.#bases[column] = (this.#bases[column] as number) + base
    this.#hasBases = true
  }

  flush(columns: readonly number[], sums: readonly (WindowSums | undefined)[]): void {
    if (!this.#hasBases) return
    this.#hasBases = false
    for (const column of columns) {
      const base = this.#bases[column] as number
      if (base === 0) continue
      const { large } = sums[column] as WindowSums
      for (const window of this.windows) if (window >= 0) large[window] = (large[window] as number) + base
      this.#bases[column] = 0
    }
  }
}
