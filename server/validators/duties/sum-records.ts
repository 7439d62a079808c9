// Adds up figures of validators, by window of time and optionally by validator. It runs in one read transaction or reads
// with one statement (`readsOnce`), so that rows which are being merged are counted once.

import type { StateReader } from '#storage/state.ts'
import { coveredEpochs } from './coverage.ts'
import { dayLevels, groupOf, groupsOf, levels, networkId, unitIn } from './layout.ts'
import { RecordAccumulator, type UnitRowsReader } from './record-accumulator.ts'
import {
  type Grain,
  grainAt,
  type Plan,
  planOf,
  type RecordQuery,
  type UnitSelection,
  unitRange,
  unitRowsOf,
} from './record-query.ts'
import type { ProvisionalRow, RecordSums, SumInput } from './record-sums.ts'
import { dataOfTables, type RowSelection, selectIds, selectUnits } from './rows.ts'

/** Validators per batch of rows. */
const validatorsAtOnce = 256

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
    rowsReader: accumulator.addUnitRows(unitRowsOfProvisional(query, plan.grains, row.epoch)),
  }))
  const readers = plan.hourParts.map((unitRows) => accumulator.addUnitRows(unitRows))
  const knownUnits = dayLevels.map(() => new Set<number>())
  for (let at = 0; at < query.validators.length; at += validatorsAtOnce) {
    signal?.throwIfAborted()
    const batch = query.validators.slice(at, at + validatorsAtOnce)
    const rows = await rowsOf(reader, query, plan, batch)
    for (const [index, level] of dayLevels.entries()) {
      const known = knownUnits[index] as Set<number>
      for (const id of rows.get(level.table)?.keys() ?? []) {
        const unit = unitIn(level, id)
        const unitRows = known.has(unit) ? undefined : unitRowsOf(query, plan, level, unit)
        if (unitRows) readers.push(accumulator.addUnitRows(unitRows))
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
      ({ unitRows: { level, firstRowId } }) => level !== levels.hours || hours.has(unitIn(level, firstRowId)),
    )
    const rowsOfReader = readersOfBatch.map(({ unitRows }) => rows.get(unitRows.level.table))
    for (const validator of batch) {
      for (let at = 0; at < readersOfBatch.length; at++) {
        const rowsReader = readersOfBatch[at] as UnitRowsReader
        const { level, firstRowId } = rowsReader.unitRows
        const data = rowsOfReader[at]?.get(firstRowId + groupOf(level, validator))
        if (data) accumulator.add(rowsReader, data, validator)
      }
      for (const { group, data, rowsReader } of provisionalRows)
        if (group === groupOf(levels.days, validator)) accumulator.add(rowsReader, data, validator)
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

const unitRowsOfProvisional = (query: RecordQuery, grains: readonly Grain[], epoch: number): UnitSelection => ({
  level: levels.days,
  firstRowId: -1,
  firstCell: 0,
  grainOfCell: Int32Array.of(grainAt(query, grains, epoch)),
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
  if (plan.hourParts.length > 0) {
    const groups = groupsOf(levels.hours, validators)
    const ids = plan.hourParts.flatMap(({ firstRowId }) => groups.map((group) => firstRowId + group))
    selections.push(selectIds(levels.hours, ids))
  }
  if (plan.dayParts.grainOfPart.length > 0)
    for (const [index, level] of dayLevels.entries())
      selections.push(selectUnits(index, networkId(network), unitRange(plan, level), groupsOf(level, validators)))
  return dataOfTables(reader, selections)
}
