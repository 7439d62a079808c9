// Adds up what validators have in a span of time, by window of time and, if asked, by validator. It runs inside one read transaction, so
// that rows which are merged meanwhile are seen once.
import { strict as assert } from 'node:assert'
import type { StateReader } from '#storage/state.ts'
import type { Measure } from '../ratings/measures.ts'
import type { Score, ScoreTotals } from '../ratings/method.ts'
import { type Level, placeOf } from './layout.ts'
import { planOf, type RecordQuery, type Source } from './record-query.ts'
import { dataByIds } from './rows.ts'
import { Summation } from './summation.ts'

/** One entry per record, in no particular order. */
export interface RecordSums {
  readonly window: Float64Array
  readonly validator: Float64Array
  /** The first day that a record has grains of; and the hour, where grains are hours. */
  readonly day: Float64Array
  readonly hour: Float64Array
  readonly sums: Readonly<Partial<Record<Measure, Float64Array>>>
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

/** Columns of records: those that say which record it is, sums, and two for each score. */
const keyColumns = ['window', 'validator', 'day', 'hour'] as const
export const columnNames = ({ measures, scores }: SumInput['wanted']): readonly string[] => [
  ...keyColumns,
  ...measures,
  ...scores.flatMap((score) => [`${score} sums`, `${score} counts`]),
]

/** From columns in that order. All of them share a buffer: so they go to another thread as one. */
export function recordSums(columns: readonly (readonly number[])[], wanted: SumInput['wanted']): RecordSums {
  const count = columns[0]?.length ?? 0
  const all = new Float64Array(columns.length * count)
  const [window, validator, day, hour, ...figures] = columns.map((values, at) => {
    all.set(values, at * count)
    return all.subarray(at * count, (at + 1) * count)
  }) as [Float64Array, Float64Array, Float64Array, Float64Array, ...Float64Array[]]
  const scored = figures.slice(wanted.measures.length) as [Float64Array]
  const sums = Object.fromEntries(
    wanted.measures.map((name, at) => [name, exactSums(figures[at] as Float64Array, name)]),
  )
  const scores = Object.fromEntries(
    wanted.scores.map((name, at) => [name, { sums: scored[2 * at], counts: scored[2 * at + 1] } as ScoreTotals]),
  )
  return { window, validator, day, hour, sums, scores }
}

function exactSums(sums: Float64Array, measure: Measure): Float64Array {
  const odd = sums.find((sum) => !(Number.isSafeInteger(sum) || Number.isNaN(sum)))
  assert(odd === undefined, `${measure}: ${odd} is not an exact whole number`)
  return sums
}

/** Records of queries about different validators: those of one window become one, unless there is one per validator. */
export function joinSums(parts: readonly RecordSums[], { query, wanted }: SumInput): RecordSums {
  const joined = columnNames(wanted).map((): number[] => [])
  const places = new Map<number, number>()
  for (const { window, validator, day, hour, sums, scores } of parts) {
    const columns = [
      ...[window, validator, day, hour],
      ...wanted.measures.map((name) => sums[name] as Float64Array),
      ...wanted.scores.flatMap((name) => [scores[name]?.sums, scores[name]?.counts] as [Float64Array, Float64Array]),
    ]
    for (let record = 0; record < window.length; record++) {
      const place = query.byValidator ? undefined : places.get(window[record] as number)
      if (place === undefined) places.set(window[record] as number, joined[0]?.length as number)
      for (let at = 0; at < columns.length; at++) {
        const [own, value] = [joined[at] as number[], columns[at]?.[record] as number]
        if (place === undefined) own.push(value)
        else
          own[place] = at < keyColumns.length ? Math.min(own[place] as number, value) : (own[place] as number) + value
      }
    }
  }
  return recordSums(joined, wanted)
}
