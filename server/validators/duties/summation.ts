// The arithmetic of sumRecords.
import { measures } from '../ratings/measures.ts'
import { addScores, type Score, type ScoreTotals, scoreMeasures } from '../ratings/method.ts'
import { ChunkReader } from './chunk.ts'
import { columnsFor, countsToMeasures, toMeasures } from './layout.ts'
import type { Grain, RecordQuery, Source } from './record-query.ts'
import { columnNames, type RecordSums, recordSums, type SumInput } from './sum-records.ts'

/**
 * Adds rows up into records. Columns that scores are formed from are kept by grain, for the validator at hand; all others are added to
 * their window at once.
 */
export class Summation {
  readonly #byValidator: boolean
  readonly #wanted: SumInput['wanted']
  readonly #grains: readonly Grain[]
  /** Windows in rising order, and each grain's place among them. */
  readonly #windows: number[] = []
  readonly #windowOf: Int32Array
  /** The most grains of one window. */
  readonly #grainsMax: number
  readonly #byGrain: readonly number[]
  readonly #byWindow: readonly number[]
  /** Of the validator at hand; undefined: the column is not kept by grain. */
  readonly #grainSums: readonly (Int32Array | undefined)[]
  readonly #scoreColumns: Parameters<typeof addScores>[0]
  readonly #isPresent: Uint8Array
  /** Of the validator at hand, or of all; undefined: the column is not asked for. */
  readonly #windowSums: readonly (WindowSums | undefined)[]
  readonly #scores: Readonly<Record<Score, ScoreTotals>>
  readonly #firstGrain: Int32Array
  readonly #inputs: readonly Input[]
  /** Records that are done, by column (`columnNames`). */
  readonly #done: readonly number[][]

  constructor(
    { byValidator }: RecordQuery,
    grains: readonly Grain[],
    sources: readonly Source[],
    wanted: SumInput['wanted'],
  ) {
    this.#byValidator = byValidator
    this.#wanted = wanted
    this.#grains = grains
    this.#windowOf = new Int32Array(grains.length)
    grains.forEach(({ window }, grain) => {
      if (window !== this.#windows.at(-1)) this.#windows.push(window)
      this.#windowOf[grain] = this.#windows.length - 1
    })
    const count = this.#windows.length
    this.#grainsMax = mostOfOne(this.#windowOf)
    const byGrain = columnsFor(wanted.scores.length > 0 ? scoreMeasures : [])
    const byWindow = columnsFor(wanted.measures).difference(byGrain)
    this.#byGrain = [...byGrain]
    this.#byWindow = [...byWindow]
    this.#grainSums = measures.map((_, column) => (byGrain.has(column) ? new Int32Array(grains.length) : undefined))
    this.#scoreColumns = Object.fromEntries(
      scoreMeasures.map((name) => [name, this.#grainSums[measures.indexOf(name)]]),
    ) as Parameters<typeof addScores>[0]
    this.#isPresent = new Uint8Array(grains.length)
    const summed = byWindow.union(byGrain)
    this.#windowSums = measures.map((_, column) => (summed.has(column) ? new WindowSums(count) : undefined))
    const totals = (): ScoreTotals => ({ sums: new Float64Array(count), counts: new Float64Array(count) })
    this.#scores = { attester: totals(), proposer: totals(), validator: totals() }
    this.#firstGrain = new Int32Array(count).fill(-1)
    this.#inputs = sources.map((source) => new Input(source, this.#windowOf))
    this.#done = columnNames(wanted).map(() => [])
  }

  /** Adds the validator's cells in a row of a source. */
  add(place: number, data: Uint8Array, validator: number): void {
    const input = this.#inputs[place] as Input
    const { source, windows } = input
    const chunk = input.open(data)
    const { level, grains } = source
    const first = (validator % level.validators) * level.units + source.first
    const count = grains.length
    if (!chunk.choose(first, count)) return
    for (let at = 0; at < count; at++) {
      const grain = grains[at] as number
      if (grain >= 0 && chunk.isPresent(first + at)) this.#isPresent[grain] = 1
    }
    for (let at = 0; at < chunk.usedCount; at++) {
      const column = chunk.used[at] as number
      const byGrain = this.#grainSums[column]
      const byWindow = this.#windowSums[column]
      if (byGrain) chunk.addCounts(column, count, byGrain, grains)
      else if (byWindow) {
        byWindow.makeRoom(input.cellsMax * chunk.spanOf(column))
        const base = chunk.addBeyondBase(column, count, byWindow.small, byWindow.large, windows)
        if (base === undefined) chunk.addColumn(column, count, byWindow.large, windows)
        else input.addBase(column, base)
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
      const own = this.#grainSums[column] as Int32Array
      const sums = this.#windowSums[column] as WindowSums
      sums.makeRoom(this.#grainsMax * countMax)
      addByPlace(sums.small, own, windowOf)
      own.fill(0)
    }
  }

  /** Moves the windows that have figures to the records that are done. */
  #finishWindows(validator: number): void {
    for (const input of this.#inputs) input.flush(this.#byWindow, this.#windowSums)
    const sums = this.#windowSums.map((own) => own?.flush())
    toMeasures(sums, this.#byWindow)
    const firstGrains = this.#firstGrain.filter((grain) => grain >= 0)
    const [windows, validators, days, hours, ...figures] = this.#done as [
      ...[number[], number[], number[], number[]],
      ...number[][],
    ]
    for (const grain of firstGrains) {
      const { window, day, hour } = this.#grains[grain] as Grain
      windows.push(window)
      validators.push(validator)
      days.push(day)
      hours.push(hour)
    }
    const found = [
      ...this.#wanted.measures.map((measure) => sums[measures.indexOf(measure)] as Float64Array),
      ...this.#wanted.scores.flatMap((score) => [this.#scores[score].sums, this.#scores[score].counts]),
    ]
    found.forEach((own, at) => {
      const done = figures[at] as number[]
      for (const grain of firstGrains) done.push(own[this.#windowOf[grain] as number] as number)
    })
    this.#firstGrain.fill(-1)
    for (const column of sums) column?.fill(0)
    for (const { sums: scored, counts } of Object.values(this.#scores)) {
      scored.fill(0)
      counts.fill(0)
    }
  }

  finish(): RecordSums {
    if (!this.#byValidator) this.#finishWindows(0)
    return recordSums(this.#done, this.#wanted)
  }
}

/** No count of a validator's day is larger. */
const countMax = 2 ** 20

function addByPlace(into: Int32Array, values: Int32Array, placeOf: Int32Array): void {
  for (let at = 0; at < values.length; at++) {
    const place = placeOf[at] as number
    into[place] = (into[place] as number) + (values[at] as number)
  }
}

/** How often a window is named at most. Windows rise; a negative number names none. */
function mostOfOne(windows: Int32Array): number {
  let [most, count, last] = [0, 0, -1]
  for (const window of windows) {
    if (window < 0) continue
    count = window === last ? count + 1 : 1
    last = window
    most = Math.max(most, count)
  }
  return most
}

/** Sums of one column by window: small numbers are added as 32-bit numbers, until they might overflow. */
class WindowSums {
  readonly small: Int32Array
  readonly large: Float64Array
  /** What the small sums may have come to. */
  #reach = 0

  constructor(windows: number) {
    this.small = new Int32Array(windows)
    this.large = new Float64Array(windows)
  }

  /** Before as much as this is added to a small sum. */
  makeRoom(most: number): void {
    this.#reach += most
    if (this.#reach < 2 ** 31) return
    this.flush()
    this.#reach = most
  }

  /** Brings the small sums to the large ones. */
  flush(): Float64Array {
    const { small, large } = this
    for (let at = 0; at < small.length; at++) large[at] = (large[at] as number) + (small[at] as number)
    small.fill(0)
    this.#reach = 0
    return large
  }
}

/** A source that is being read. */
class Input {
  readonly source: Source
  /** As the source's grains, by window. */
  readonly windows: Int32Array
  /** The most cells of a validator that go to one window. */
  readonly cellsMax: number
  /** By column: bases of all validators' columns, each to be added once a cell. */
  readonly #bases = new Float64Array(measures.length)
  readonly #chunk = new ChunkReader(measures.length)
  #data: Uint8Array | undefined

  constructor(source: Source, windowOf: Int32Array) {
    this.source = source
    this.windows = source.grains.map((grain) => (grain < 0 ? -1 : (windowOf[grain] as number)))
    this.cellsMax = mostOfOne(this.windows)
  }

  /** Validators that share a row come one after the other. */
  open(data: Uint8Array): ChunkReader {
    if (this.#data !== data) this.#chunk.open(data)
    this.#data = data
    return this.#chunk
  }

  addBase(column: number, base: number): void {
    this.#bases[column] = (this.#bases[column] as number) + base
  }

  flush(columns: readonly number[], sums: readonly (WindowSums | undefined)[]): void {
    for (const column of columns) {
      const base = this.#bases[column] as number
      if (base === 0) continue
      const { large } = sums[column] as WindowSums
      for (const window of this.windows) if (window >= 0) large[window] = (large[window] as number) + base
      this.#bases[column] = 0
    }
  }
}
