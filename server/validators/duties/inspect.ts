// Queries for checks of the database: the doctor, backups, and the comparison of a stored hour with a node.
import type { Network } from '#api/wire/validators.ts'
import { type ChainHour, type ChainTime, epochsOfHour } from '#core/chain-time.ts'
import { Fault } from '#core/fault.ts'
import type { StateReader } from '#storage/state.ts'
import { type Measure, measures } from '../ratings/measures.ts'
import { addChunk, ChunkReader } from './chunk.ts'
import { Cells } from './chunk-format.ts'
import { coveredEpochs } from './coverage.ts'
import { isDamaged, repairCommand, storedEpochsOf } from './damage.ts'
import {
  dayLevels,
  groupIn,
  type Level,
  levels,
  missedLevel,
  networkId,
  networkIn,
  partsIn,
  presenceLevel,
  toMeasures,
  unitIds,
  unitIn,
} from './layout.ts'
import { missedFields } from './missed.ts'
import { storedTime } from './networks.ts'
import { membersOf, unpackSet } from './presence.ts'
import { rowsBetween } from './rows.ts'

const allColumns = [...measures.keys()]

/** Sums of one chain hour, one entry per validator, in ascending order. */
export interface HourSums {
  readonly validator: Int32Array
  readonly sums: Readonly<Record<Measure, Float64Array>>
}

export async function hourSums(
  reader: StateReader,
  { network, time, hour }: { readonly network: Network; readonly time: ChainTime; readonly hour: number },
): Promise<HourSums> {
  const rows = new Map<number, Cells>()
  const chunk = new ChunkReader(measures.length)
  for (const { part } of partsIn(time, epochsOfHour(time, hour as ChainHour))) {
    const ids = unitIds(levels.hours, networkId(network), { from: hour + part, until: hour + part + 1 })
    for await (const batch of rowsBetween(reader, levels.hours.table, ids)) {
      for (const { id, data } of batch) {
        const group = groupIn(levels.hours, id)
        const cells = rows.getOrInsertComputed(group, () => new Cells(levels.hours.validators, measures.length))
        addChunk(chunk, data, cells)
      }
    }
  }
  const validator: number[] = []
  const sums = measures.map((): number[] => [])
  for (const [group, cells] of [...rows].sort(([a], [b]) => a - b)) {
    toMeasures(cells.columns, allColumns)
    for (let cell = 0; cell < cells.count; cell++) {
      if (cells.isPresent[cell] === 0) continue
      validator.push(group * levels.hours.validators + cell)
      for (let column = 0; column < measures.length; column++)
        sums[column]?.push(cells.columns[column]?.[cell] as number)
    }
  }
  return {
    validator: Int32Array.from(validator),
    sums: Object.fromEntries(
      measures.map((name, column) => [name, Float64Array.from(sums[column] as number[])]),
    ) as Record<Measure, Float64Array>,
  }
}

/** The validators that have figures in a day part, in ascending order. */
export async function validatorsIn(
  reader: StateReader,
  { network, part }: { readonly network: Network; readonly part: number },
): Promise<Int32Array> {
  const validators: number[] = []
  const ids = unitIds(presenceLevel, networkId(network), { from: part, until: part + 1 })
  for await (const batch of rowsBetween(reader, presenceLevel.table, ids)) {
    for (const { id, data } of batch) {
      const first = groupIn(presenceLevel, id) * presenceLevel.validators
      for (const member of membersOf(unpackSet(data))) validators.push(first + member)
    }
  }
  return Int32Array.from(validators)
}

/** Tables without packed data. */
const plainTables = [
  'coverage',
  'cursors',
  'duty_changes',
  'duty_networks',
  'duty_summaries',
  'duty_summary_days',
  'duty_units',
  'inactivity_scores',
  'reward_audits',
  'unexplained_balance_changes',
  'watch_ranges',
] as const

/** Counts the rows of each table, and checks every packed row. Throws a fault about the first damaged one. */
export async function countRows(reader: StateReader, _: undefined): Promise<Record<string, number>> {
  const rows: Record<string, number> = {}
  for (const name of plainTables) {
    const row = await reader.get<{ count: number }>(`select count(*) as count from ${name}`)
    rows[name] = row?.count ?? 0
  }
  const figures = new ChunkReader(measures.length)
  const missed = new ChunkReader(missedFields.length)
  for (const level of [levels.hours, ...dayLevels])
    rows[level.table] = await countChunks(reader, level, (data) => figures.open(data))
  rows[missedLevel.table] = await countChunks(reader, missedLevel, (data) => missed.open(data))
  rows[presenceLevel.table] = await countChunks(reader, presenceLevel, unpackSet)
  return rows
}

async function countChunks(reader: StateReader, level: Level, check: (data: Uint8Array) => unknown): Promise<number> {
  let count = 0
  for await (const rows of rowsBetween(reader, level.table, { from: 0, until: 2 ** 53 - 1 })) {
    for (const { id, data } of rows) if (isDamaged(() => check(data))) throw await describeDamage(reader, level, id)
    count += rows.length
  }
  return count
}

/** A fault that says which row is damaged and how to repair it. */
async function describeDamage(reader: StateReader, level: Level, id: number): Promise<Fault> {
  const network = networkIn(id)
  const time = await storedTime(reader, network)
  const first = groupIn(level, id) * level.validators
  const last = first + level.validators - 1
  const validators = first === last ? `validator ${first}` : `validators ${first} to ${last}`
  const epochs = time && storedEpochsOf(time, level, unitIn(level, id), await coveredEpochs(reader, network))
  const remedy = epochs ? `run \`${repairCommand(network, epochs)}\`, or restore a backup` : 'restore a backup'
  return new Fault('store.unavailable', {
    detail: `${level.table} has a damaged row of ${network}, ${validators} (wrong checksum): ${remedy}`,
  })
}
