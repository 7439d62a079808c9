// Adds up figures of validators, by window of time and optionally by validator. It runs in one read transaction or reads
// with one statement (`readsOnce`), so that rows which are being merged are counted once.

import { strict as assert } from 'node:assert'
import { recordFrom } from '#core/record-from.ts'
import type { StateReader } from '#storage/state.ts'
import type { Measure } from '../ratings/measures.ts'
import type { Score, ScoreTotals } from '../ratings/method.ts'
import { coveredEpochs } from './coverage.ts'
import { dayLevels, groupOf, groupsOf, levels, networkId, unitIn } from './layout.ts'
import { RecordAccumulator, type SourceReader } from './record-accumulator.ts'
import {
  daySource,
  type Grain,
  grainAt,
  type Plan,
  planOf,
  type RecordQuery,
  type Source,
  unitsOf,
} from './record-query.ts'
import { dataOfTables, type RowSelection, selectIds, selectUnits } from './rows.ts'

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

/** Validators per batch of rows. */
const validatorsAtOnce = 256

export interface SumInput {
  readonly query: RecordQuery
  readonly wanted: { readonly measures: readonly Measure[]; readonly scores: readonly Score[] }
  /** Added to the stored rows, unless their epoch is stored by now. */
  readonly provisional?: readonly ProvisionalRow[]
}

/** Packed figures of one epoch that is not final, of the validators of one group of 64. */
export interface ProvisionalRow {
  readonly epoch: number
  readonly group: number
  readonly data: Uint8Array
}

/** Sums and mean scores of all records. */
export async function sumRecords(
  reader: StateReader,
  { query, wanted, provisional = [] }: SumInput,
  signal?: AbortSignal,
): Promise<RecordSums> {
  const plan = planOf(query)
  const unstored = provisional.length > 0 ? await withoutStored(reader, query, provisional) : []
  const accumulator = new RecordAccumulator(query, plan.grains, wanted)
  const provisionalRows = unstored.map((row) => ({
    ...row,
    sourceReader: accumulator.addSource(provisionalSource(query, plan.grains, row.epoch)),
  }))
  const readers = plan.hours.map((source) => accumulator.addSource(source))
  const knownUnits = dayLevels.map(() => new Set<number>())
  for (let at = 0; at < query.validators.length; at += validatorsAtOnce) {
    signal?.throwIfAborted()
    const batch = query.validators.slice(at, at + validatorsAtOnce)
    const rows = await rowsOf(reader, query, plan, batch)
    for (const [index, level] of dayLevels.entries()) {
      const known = knownUnits[index] as Set<number>
      for (const id of rows.get(level.table)?.keys() ?? []) {
        const unit = unitIn(level, id)
        const source = known.has(unit) ? undefined : daySource(query, plan, level, unit)
        if (source) readers.push(accumulator.addSource(source))
        known.add(unit)
      }
    }
    const hours = new Set(
      rows
        .get(levels.hours.table)
        ?.keys()
        .map((id) => unitIn(levels.hours, id)),
    )
    const readersOfBatch = readers.filter(
      ({ source: { level, firstId } }) => level !== levels.hours || hours.has(unitIn(level, firstId)),
    )
    const rowsOfReader = readersOfBatch.map(({ source }) => rows.get(source.level.table))
    for (const validator of batch) {
      for (let at = 0; at < readersOfBatch.length; at++) {
        const sourceReader = readersOfBatch[at] as SourceReader
        const { level, firstId } = sourceReader.source
        const data = rowsOfReader[at]?.get(firstId + groupOf(level, validator))
        if (data) accumulator.add(sourceReader, data, validator)
      }
      for (const { group, data, sourceReader } of provisionalRows)
        if (group === groupOf(levels.days, validator)) accumulator.add(sourceReader, data, validator)
      accumulator.finishValidator(validator)
    }
  }
  return accumulator.finish()
}

/** Whether `sumRecords` reads with one statement, which is a snapshot by itself. */
export const readsOnce = ({ query, provisional = [] }: SumInput): boolean =>
  query.validators.length <= validatorsAtOnce && provisional.length === 0

/** The snapshot that is read may have epochs that were not stored when the query was sent. */
async function withoutStored(
  reader: StateReader,
  { network }: RecordQuery,
  rows: readonly ProvisionalRow[],
): Promise<readonly ProvisionalRow[]> {
  const end = (await coveredEpochs(reader, network)).at(-1)?.until ?? 0
  return rows.filter(({ epoch }) => epoch >= end)
}

const provisionalSource = (query: RecordQuery, grains: readonly Grain[], epoch: number): Source => ({
  level: levels.days,
  firstId: -1,
  first: 0,
  grains: Int32Array.of(grainAt(query, grains, epoch)),
})

type RowsByTable = Awaited<ReturnType<typeof dataOfTables>>

/** The rows of these validators, by table and id. Which units have rows is found in the same statement. */
function rowsOf(
  reader: StateReader,
  { network }: RecordQuery,
  plan: Plan,
  validators: readonly number[],
): Promise<RowsByTable> {
  const selections: RowSelection[] = []
  if (plan.hours.length > 0) {
    const groups = groupsOf(levels.hours, validators)
    const ids = plan.hours.flatMap(({ firstId }) => groups.map((group) => firstId + group))
    selections.push(selectIds(levels.hours, ids))
  }
  if (plan.days.grainOf.length > 0)
    for (const [index, level] of dayLevels.entries())
      selections.push(selectUnits(index, networkId(network), unitsOf(plan, level), groupsOf(level, validators)))
  return dataOfTables(reader, selections)
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
