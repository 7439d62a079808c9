// Which units of time have rows, by level of days (table duty_units), and how far their validators reach.
import { putRow } from '#storage/put-row.ts'
import type { StateReader, StateWriter } from '#storage/state.ts'
import { dayLevels, groupIn, type Level, unitIds } from './layout.ts'

/** Units that have rows: one list for each of `dayLevels`. */
export async function allUnits(reader: StateReader, network: number): Promise<readonly (readonly number[])[]> {
  const rows = await reader.all<{ level: number; unit: number }>(
    'select level, unit from duty_units where network = ? order by level, unit',
    network,
  )
  const byLevel = Map.groupBy(rows, ({ level }) => level)
  return dayLevels.map((_, level) => (byLevel.get(level) ?? []).map(({ unit }) => unit))
}

/** `level` is an index of `dayLevels`. */
export const addUnit = (tx: StateWriter, network: number, level: number, unit: number): Promise<void> =>
  putRow(tx, 'duty_units', ['network', 'level', 'unit'], { network, level, unit })

/** One more than the highest validator that rows of these units can hold. At least 1, also for units without rows. */
export async function validatorsEnd(
  reader: StateReader,
  level: Level,
  network: number,
  units: readonly number[],
): Promise<number> {
  let end = 1
  for (const unit of units) {
    const { from, until } = unitIds(level, network, { from: unit, until: unit + 1 })
    const sql = `select max(id) as id from ${level.table} where id >= ? and id < ?`
    const row = await reader.get<{ id: number | null }>(sql, from, until)
    if (row?.id != null) end = Math.max(end, (groupIn(level, row.id) + 1) * level.validators)
  }
  return end
}
