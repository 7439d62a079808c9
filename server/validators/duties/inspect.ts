// Queries for checks of the database: the doctor, backups, and exports.
import type { Network } from '#api/contract/wire/validators.ts'
import { Fault } from '#core/fault.ts'
import type { StateReader } from '#storage/state.ts'
import { measures } from '../method/measures.ts'
import { coveredEpochs } from './coverage.ts'
import { isDamaged, repairCommand, storedEpochsOf } from './damage.ts'
import {
  dayLevels,
  groupIn,
  type Level,
  levels,
  missedLevel,
  networkId,
  networkIdIn,
  presenceLevel,
  unitIds,
  unitIn,
} from './layout.ts'
import { missedFields } from './missed.ts'
import { checkNetworkRow, eachNetworkRow } from './network-rows.ts'
import { storedNetworkOf, storedTime } from './networks.ts'
import { RowReader } from './packed-row.ts'
import { membersOf, unpackSet } from './presence.ts'
import { rowsBetween } from './rows.ts'

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
  const figures = new RowReader(measures.length)
  const missed = new RowReader(missedFields.length)
  for (const level of [levels.hours, ...dayLevels])
    rows[level.table] = await countPackedRows(reader, level, (data) => figures.open(data))
  rows[missedLevel.table] = await countPackedRows(reader, missedLevel, (data) => missed.open(data))
  rows[presenceLevel.table] = await countPackedRows(reader, presenceLevel, unpackSet)
  rows.network_rows = await checkNetworkRows(reader)
  return rows
}

async function checkNetworkRows(reader: StateReader): Promise<number> {
  let count = 0
  for await (const { network, from, until, group, data } of eachNetworkRow(reader)) {
    count += 1
    if (!isDamaged(() => checkNetworkRow(group, data))) continue
    const remedy = `run \`${repairCommand(network, { from, until })}\`, or restore a backup`
    throw new Fault('store.unavailable', {
      detail: `network_rows has a damaged row of ${network} (wrong checksum): ${remedy}`,
    })
  }
  return count
}

async function countPackedRows(
  reader: StateReader,
  level: Level,
  check: (data: Uint8Array) => unknown,
): Promise<number> {
  let count = 0
  for await (const rows of rowsBetween(reader, level.table, { from: 0, until: 2 ** 53 - 1 })) {
    for (const { id, data } of rows) if (isDamaged(() => check(data))) throw await describeDamage(reader, level, id)
    count += rows.length
  }
  return count
}

/** A fault that says which row is damaged and how to repair it. */
async function describeDamage(reader: StateReader, level: Level, id: number): Promise<Fault> {
  const network = (await storedNetworkOf(reader, networkIdIn(id))) ?? 'an unknown network'
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
