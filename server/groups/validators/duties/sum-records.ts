// Adds up what validators have in a span of time, by window of time and, if asked, by validator. It runs inside one read transaction, so
// that rows which are merged meanwhile are seen once.
import { strict as assert } from 'node:assert'
import type { StateReader } from '#store/state.ts'
import type { Measure } from '../measures.ts'
import type { Score } from '../method.ts'
import { type Level, placeOf } from './layout.ts'
import { planOf, type RecordQuery, type Source } from './record-query.ts'
import { dataByIds } from './rows.ts'
import { Summation } from './summation.ts'

export interface ScoreTotals {
  readonly sums: Float64Array
  readonly counts: Float64Array
}

/** One entry per record, in no particular order. */
export interface RecordSums {
  readonly window: Float64Array
  readonly validator: Float64Array
  /** The first day that a record has grains of; and the hour, where grains are hours. */
  readonly day: Float64Array
  readonly hour: Float64Array
  readonly sums: Readonly<Partial<Record<Measure, Float64Array>>>
  /** Scores of all grains that have one, added up, and how many they are. */
  readonly scores: Readonly<Partial<Record<Score, ScoreTotals>>>
}

/** Validators whose rows are read at a time. */
const validatorsAtOnce = 256

export interface SumInput {
  readonly query: RecordQuery
  readonly wanted: { readonly measures: readonly Measure[]; readonly scores: readonly Score[] }
}

/** Sums and mean scores of all records. */
export async function sumRecords(
  reader: StateReader,
  { query, wanted }: SumInput,
  signal?: AbortSignal,
): Promise<RecordSums> {
  const { sources, grains } = await planOf(reader, query)
  const summation = new Summation(query, grains, sources, wanted)
  for (let at = 0; at < query.validators.length; at += validatorsAtOnce) {
    signal?.throwIfAborted()
    const some = query.validators.slice(at, at + validatorsAtOnce)
    const rows = await rowsOf(reader, sources, some)
    for (const validator of some) {
      for (const [place, source] of sources.entries()) {
        const data = rows.get(source.level)?.get(source.firstId + placeOf(source.level, validator))
        if (data) summation.add(place, data, validator)
      }
      summation.finishValidator(validator)
    }
  }
  return summation.finish()
}

/** The sources' rows of these validators, by level and id: ids are those of a table. */
async function rowsOf(
  reader: StateReader,
  sources: readonly Source[],
  validators: readonly number[],
): Promise<Map<Level, Map<number, Uint8Array>>> {
  const rows = new Map<Level, Map<number, Uint8Array>>()
  for (const [level, own] of Map.groupBy(sources, (source) => source.level)) {
    const places = [...new Set(validators.map((validator) => placeOf(level, validator)))]
    const ids = own.flatMap(({ firstId }) => places.map((place) => firstId + place))
    rows.set(level, await dataByIds(reader, level.table, ids))
  }
  return rows
}

/** Records of several queries that differ in their validators alone: those of one window and validator become one. */
export function joinSums(parts: readonly RecordSums[]): RecordSums {
  const places = new Map<string, number>()
  const placesOf = parts.map(({ window, validator }) =>
    Array.from(window, (_, at) => {
      const key = `${window[at]} ${validator[at]}`
      const place = places.get(key) ?? places.size
      places.set(key, place)
      return place
    }),
  )
  const join = (of: (part: RecordSums) => Float64Array, combine: (a: number, b: number) => number, start: number) => {
    const joined = new Float64Array(places.size).fill(start)
    parts.forEach((part, at) => {
      of(part).forEach((value, record) => {
        const place = placesOf[at]?.[record] as number
        joined[place] = combine(joined[place] as number, value)
      })
    })
    return joined
  }
  const added = (of: (part: RecordSums) => Float64Array) => join(of, (a, b) => a + b, 0)
  const least = (of: (part: RecordSums) => Float64Array) => join(of, Math.min, Number.POSITIVE_INFINITY)
  const [first] = parts as [RecordSums]
  return {
    window: least(({ window }) => window),
    validator: least(({ validator }) => validator),
    day: least(({ day }) => day),
    hour: least(({ hour }) => hour),
    sums: Object.fromEntries(
      Object.keys(first.sums).map((name) => {
        const own = added(({ sums }) => sums[name as Measure] as Float64Array)
        return [name, exactSums([...own], name as Measure)]
      }),
    ),
    scores: Object.fromEntries(
      Object.keys(first.scores).map((name) => {
        const of = (kind: keyof ScoreTotals) => added(({ scores }) => (scores[name as Score] as ScoreTotals)[kind])
        return [name, { sums: of('sums'), counts: of('counts') }]
      }),
    ),
  }
}

export function exactSums(sums: readonly number[], measure: Measure): Float64Array {
  const odd = sums.find((sum) => !(Number.isSafeInteger(sum) || Number.isNaN(sum)))
  assert(odd === undefined, `${measure}: ${odd} is not an exact whole number`)
  return Float64Array.from(sums)
}
