// The arithmetic of sumRecords.
import { measures } from '../measures.ts'
import { GrainScores, type Score, scoreMeasures } from '../method.ts'
import { ChunkReader } from './chunk.ts'
import { columnsFor, toMeasures } from './layout.ts'
import type { Grain, RecordQuery, Source } from './record-query.ts'
import { exactSums, type RecordSums, type ScoreTotals, type SumInput } from './sum-records.ts'

/**
 * Adds rows up into records. Columns that scores are formed from are kept by grain, for the validator at hand; all others are added to
 * their window at once.
 */
export class Summation {
  readonly #byValidator: boolean
  readonly #wanted: SumInput['wanted']
  readonly #grains: readonly Grain[]
  /** Windows in rising order, and each grain's place among them. */
  readonly #windows: readonly number[]
  readonly #windowOf: Int32Array
  /** The most grains of one window. */
  readonly #grainsMax: number
  readonly #byGrain: readonly number[]
  readonly #byWindow: readonly number[]
  /** Of the validator at hand. */
  readonly #grainSums: readonly (Int32Array | undefined)[]
  readonly #isPresent: Uint8Array
  /** Of the validator at hand, or of all. */
  readonly #windowSums: readonly (WindowSums | undefined)[]
  readonly #scoreSums: readonly Float64Array[]
  readonly #scoreCounts: readonly Float64Array[]
  readonly #firstGrain: Int32Array
  readonly #scores: GrainScores
  readonly #inputs: readonly Input[]
  readonly #keys: { readonly window: number; readonly validator: number; readonly grain: number }[] = []
  readonly #done: { readonly sums: number[][]; readonly scores: number[][]; readonly counts: number[][] }

  constructor(
    { byValidator }: RecordQuery,
    grains: readonly Grain[],
    sources: readonly Source[],
    wanted: SumInput['wanted'],
  ) {
    this.#byValidator = byValidator
    this.#wanted = wanted
    this.#grains = grains
    this.#windows = [...new Set(grains.map(({ window }) => window))].sort((a, b) => a - b)
    const count = this.#windows.length
    const places = new Map(this.#windows.map((window, place) => [window, place]))
    this.#windowOf = Int32Array.from(grains, ({ window }) => places.get(window) as number)
    this.#grainsMax = Math.max(
      0,
      ...Map.groupBy(this.#windowOf, (window) => window)
        .values()
        .map(({ length }) => length),
    )
    const byGrain = columnsFor(wanted.scores.flatMap((score) => scoreMeasures[score]))
    const byWindow = columnsFor(wanted.measures).difference(byGrain)
    this.#byGrain = [...byGrain]
    this.#byWindow = [...byWindow]
    this.#grainSums = measures.map((_, column) => (byGrain.has(column) ? new Int32Array(grains.length) : undefined))
    this.#isPresent = new Uint8Array(grains.length)
    const summed = byWindow.union(byGrain)
    this.#windowSums = measures.map((_, column) => (summed.has(column) ? new WindowSums(count) : undefined))
    this.#scoreSums = wanted.scores.map(() => new Float64Array(count))
    this.#scoreCounts = wanted.scores.map(() => new Float64Array(count))
    this.#firstGrain = new Int32Array(count).fill(-1)
    this.#scores = new GrainScores(grains.length)
    this.#inputs = sources.map((source) => new Input(source, this.#windowOf, count))
    const lists = (list: readonly string[]) => list.map((): number[] => [])
    this.#done = { sums: lists(wanted.measures), scores: lists(wanted.scores), counts: lists(wanted.scores) }
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
    for (const column of this.#byGrain)
      if (chunk.has(column)) chunk.addCounts(column, count, this.#grainSums[column] as Int32Array, grains)
    for (const column of this.#byWindow) {
      if (!chunk.has(column)) continue
      const { small, large, makeRoom } = this.#windowSums[column] as WindowSums
      makeRoom(input.cellsMax * chunk.spanOf(column))
      const base = chunk.addBeyondBase(column, count, small, large, windows)
      if (base === undefined) chunk.addColumn(column, count, large, windows)
      else input.addBase(column, base)
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
    if (this.#byGrain.length > 0) this.#finishGrains()
    this.#isPresent.fill(0)
    if (this.#byValidator) this.#finishWindows(validator)
  }

  #finishGrains(): void {
    const windowOf = this.#windowOf
    toMeasures(this.#grainSums, this.#byGrain, windowOf.length)
    this.#addScores()
    for (const column of this.#byGrain) {
      const own = this.#grainSums[column] as Int32Array
      const { small, makeRoom } = this.#windowSums[column] as WindowSums
      makeRoom(this.#grainsMax * countMax)
      for (let grain = 0; grain < windowOf.length; grain++) {
        const window = windowOf[grain] as number
        small[window] = (small[window] as number) + (own[grain] as number)
      }
      own.fill(0)
    }
  }

  #addScores(): void {
    const { scores } = this.#wanted
    this.#scores.compute(this.#grainSums)
    for (let at = 0; at < scores.length; at++) {
      const own = this.#scores.of(scores[at] as Score)
      const sums = this.#scoreSums[at] as Float64Array
      const counts = this.#scoreCounts[at] as Float64Array
      for (let grain = 0; grain < own.length; grain++) {
        const score = own[grain] as number
        if (Number.isNaN(score)) continue
        const window = this.#windowOf[grain] as number
        sums[window] = (sums[window] as number) + score
        counts[window] = (counts[window] as number) + 1
      }
    }
  }

  /** Moves the windows that have figures to the records that are done. */
  #finishWindows(validator: number): void {
    for (const input of this.#inputs) input.flush(this.#byWindow, this.#windowSums)
    const sums = this.#windowSums.map((own) => own?.flush())
    toMeasures(sums, this.#byWindow, this.#windows.length)
    const wanted = this.#wanted.measures.map((measure) => sums[measures.indexOf(measure)] as Float64Array)
    for (let place = 0; place < this.#windows.length; place++) {
      const grain = this.#firstGrain[place] as number
      if (grain < 0) continue
      this.#keys.push({ window: this.#windows[place] as number, validator, grain })
      wanted.forEach((own, at) => void this.#done.sums[at]?.push(own[place] as number))
      this.#scoreSums.forEach((own, at) => {
        this.#done.scores[at]?.push(own[place] as number)
        this.#done.counts[at]?.push(this.#scoreCounts[at]?.[place] as number)
      })
    }
    this.#firstGrain.fill(-1)
    for (const column of [...sums, ...this.#scoreSums, ...this.#scoreCounts]) column?.fill(0)
  }

  finish(): RecordSums {
    if (!this.#byValidator) this.#finishWindows(0)
    const keys = this.#keys
    const column = (of: (key: (typeof keys)[number]) => number) => Float64Array.from(keys, of)
    const grainOf = ({ grain }: (typeof keys)[number]) => this.#grains[grain] as Grain
    const { measures: names, scores } = this.#wanted
    return {
      window: column((key) => key.window),
      validator: column((key) => key.validator),
      day: column((key) => grainOf(key).day),
      hour: column((key) => grainOf(key).hour),
      sums: Object.fromEntries(names.map((name, at) => [name, exactSums(this.#done.sums[at] as number[], name)])),
      scores: Object.fromEntries(
        scores.map((name, at) => {
          const totals: ScoreTotals = {
            sums: Float64Array.from(this.#done.scores[at] as number[]),
            counts: Float64Array.from(this.#done.counts[at] as number[]),
          }
          return [name, totals]
        }),
      ),
    }
  }
}

/** No count of a validator's day is larger. */
const countMax = 2 ** 20

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
  readonly makeRoom = (most: number): void => {
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
  /** How many cells of a validator go to each window. */
  readonly #cells: Float64Array
  /** By column: bases of all validators' columns, each to be added once a cell. */
  readonly #bases = new Float64Array(measures.length)
  readonly #chunk = new ChunkReader(measures.length)
  #data: Uint8Array | undefined

  constructor(source: Source, windowOf: Int32Array, windows: number) {
    this.source = source
    this.windows = source.grains.map((grain) => (grain < 0 ? -1 : (windowOf[grain] as number)))
    this.#cells = new Float64Array(windows)
    for (const window of this.windows) if (window >= 0) this.#cells[window] = (this.#cells[window] as number) + 1
    this.cellsMax = Math.max(0, ...this.#cells)
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
      for (let at = 0; at < large.length; at++) large[at] = (large[at] as number) + base * (this.#cells[at] as number)
      this.#bases[column] = 0
    }
  }
}
