// The sums of records as columns: one number per record in each.
import { strict as assert } from 'node:assert'
import { recordFrom } from '#core/record-from.ts'
import type { Measure } from '../method/measures.ts'
import type { Score, ScoreTotals } from '../method/method.ts'
import type { RecordQuery } from './record-query.ts'

export interface SumInput {
  readonly query: RecordQuery
  readonly wanted: { readonly measures: readonly Measure[]; readonly scores: readonly Score[] }
  /** Added to the stored rows, unless their epoch is stored by now. */
  readonly provisional?: readonly ProvisionalRow[]
  /** A replica may answer if its figures have this version (figures-version.ts). Undefined: only the primary. */
  readonly figures?: string | undefined
}

/** Packed figures of one epoch that is not final, of the validators of one group of 64. */
export interface ProvisionalRow {
  readonly epoch: number
  readonly group: number
  readonly data: Uint8Array
}

/** One entry per record, in no particular order. */
export interface RecordSums {
  readonly window: Float64Array
  readonly validator: Float64Array
  /** The day of the record's first grain, and its hour if grains are hours. */
  readonly day: Float64Array
  readonly hour: Float64Array
  readonly sums: Readonly<Partial<Record<Measure, Float64Array>>>
  readonly scores: Readonly<Partial<Record<Score, ScoreTotals>>>
}

/** Columns of records: the key, the sums, and two for each score. */
const keyColumns = ['window', 'validator', 'day', 'hour'] as const
export const columnNames = ({ measures, scores }: SumInput['wanted']): readonly string[] => [
  ...keyColumns,
  ...measures,
  ...scores.flatMap((score) => [`${score} sums`, `${score} counts`]),
]

/** From columns in that order. They share one buffer, so that they are sent to another thread together. */
export function recordSums(columns: readonly Float64Array[], wanted: SumInput['wanted']): RecordSums {
  const count = columns[0]?.length ?? 0
  const all = new Float64Array(columns.length * count)
  const [window, validator, day, hour, ...figures] = columns.map((values, at) => {
    all.set(values, at * count)
    return all.subarray(at * count, (at + 1) * count)
  }) as [Float64Array, Float64Array, Float64Array, Float64Array, ...Float64Array[]]
  const scored = figures.slice(wanted.measures.length) as [Float64Array]
  const sums = recordFrom(wanted.measures, (name, at) => exactSums(figures[at] as Float64Array, name))
  const scores = recordFrom(
    wanted.scores,
    (_, at) => ({ sums: scored[2 * at], counts: scored[2 * at + 1] }) as ScoreTotals,
  )
  return { window, validator, day, hour, sums, scores }
}

function exactSums(sums: Float64Array, measure: Measure): Float64Array {
  for (const sum of sums)
    if (!(Number.isSafeInteger(sum) || Number.isNaN(sum)))
      assert.fail(`${measure}: ${sum} is not an exact whole number`)
  return sums
}

/**
 * Joins the results of a divided query. Unless there is one record per validator, adds up the records of each window.
 */
export function joinSums(parts: readonly RecordSums[], { query, wanted }: SumInput): RecordSums {
  const recordOfWindow = new Map<number, number>()
  let count = 0
  /** For each part: the index in the result of each of its records. */
  const recordsByPart = parts.map(({ window: windows }) =>
    Int32Array.from(windows, (window) => {
      const known = query.byValidator ? undefined : recordOfWindow.get(window)
      if (known !== undefined) return known
      recordOfWindow.set(window, count)
      return count++
    }),
  )
  const joined = columnNames(wanted).map((_, at) => {
    const column = new Float64Array(count)
    return at < keyColumns.length ? column.fill(Number.POSITIVE_INFINITY) : column
  })
  for (const [part, { window, validator, day, hour, sums, scores }] of parts.entries()) {
    const records = recordsByPart[part] as Int32Array
    for (const [at, values] of [window, validator, day, hour].entries())
      keepLeast(joined[at] as Float64Array, values, records)
    const figures = [
      ...wanted.measures.map((name) => sums[name] as Float64Array),
      ...wanted.scores.flatMap((name) => [scores[name]?.sums, scores[name]?.counts] as [Float64Array, Float64Array]),
    ]
    for (const [at, values] of figures.entries()) addAt(joined[keyColumns.length + at] as Float64Array, values, records)
  }
  return recordSums(joined, wanted)
}

function keepLeast(into: Float64Array, values: Float64Array, records: Int32Array): void {
  for (let at = 0; at < records.length; at++) {
    const record = records[at] as number
    into[record] = Math.min(into[record] as number, values[at] as number)
  }
}

function addAt(into: Float64Array, values: Float64Array, records: Int32Array): void {
  for (let at = 0; at < records.length; at++) {
    const record = records[at] as number
    into[record] = (into[record] as number) + (values[at] as number)
  }
}
