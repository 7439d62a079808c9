// Reads and writes rows of packed data in batches, in SQL that both engines share.
import type { Range } from '#core/ranges.ts'
import type { StateReader, StateWriter, Value } from '#storage/state.ts'
import { dayLevels, groupIn, type Level, rowId } from './layout.ts'

/** Rows per statement when a range is read. */
const rowsPerQuery = 256

const listOf = (ids: readonly number[]): string => `[${ids.join()}]`

export interface PackedRow {
  readonly id: number
  readonly data: Uint8Array
}

/** Rows to read from the table of a level: a statement that selects their ids as `value`. */
export interface RowSelection {
  readonly level: Level
  readonly sql: string
  readonly values: readonly Value[]
}

export const selectIds = (level: Level, ids: readonly number[]): RowSelection => ({
  level,
  sql: 'select value from json_each(?)',
  values: [listOf(ids)],
})

/** The rows of these groups in those of these units that have rows. */
export function selectUnits(
  levelIndex: number,
  network: number,
  units: Range,
  groups: readonly number[],
): RowSelection {
  const level = dayLevels[levelIndex] as Level
  // Without the character *, because SQLite statements that contain it return rows more slowly (sqlite/connection.ts).
  return {
    level,
    sql: `select ${rowId(level, network, 0, 0)} + (cast(unit as bigint) << ${Math.log2(level.groupsMax)}) + value as value
      from duty_units, json_each(?) where network = ${network} and level = ${levelIndex} and unit >= ? and unit < ?`,
    values: [listOf(groups), units.from, units.until],
  }
}

/** The data of rows by table and id, in one statement, because PostgreSQL answers each statement separately. */
export async function dataOfTables(
  reader: StateReader,
  selections: readonly RowSelection[],
): Promise<ReadonlyMap<string, Map<number, Uint8Array>>> {
  const found = new Map(selections.map(({ level }) => [level.table, new Map<number, Uint8Array>()]))
  if (selections.length === 0) return found
  const lists = selections.map(({ sql }, at) => `ids${at} as (${sql})`)
  const selects = selections.map(
    ({ level }, at) => `select ${at} as source, id, data from ${level.table} where id in (select value from ids${at})`,
  )
  const rows = await reader.all<PackedRow & { readonly source: number }>(
    `with ${lists.join(', ')} ${selects.join(' union all ')}`,
    ...selections.flatMap(({ values }) => values),
  )
  for (const { source, id, data } of rows) found.get((selections[source] as RowSelection).level.table)?.set(id, data)
  return found
}

/** The data of the rows that exist, by id. */
export async function dataByIds(
  reader: StateReader,
  table: string,
  ids: readonly number[],
): Promise<Map<number, Uint8Array>> {
  const sql = `select id, data from ${table} where id in (select value from json_each(?))`
  const rows = ids.length > 0 ? await reader.all<PackedRow>(sql, listOf(ids)) : []
  return new Map(rows.map(({ id, data }) => [id, data]))
}

/** All rows of a range of ids, in order, in batches. */
export async function* rowsBetween(
  reader: StateReader,
  table: string,
  { from, until }: Range,
): AsyncGenerator<PackedRow[]> {
  for (let next = from; ; ) {
    const rows = await reader.all<PackedRow>(
      `select id, data from ${table} where id >= ? and id < ? order by id limit ${rowsPerQuery}`,
      next,
      until,
    )
    if (rows.length > 0) yield rows
    if (rows.length < rowsPerQuery) return
    next = (rows.at(-1) as PackedRow).id + 1
  }
}

/** The data of all rows of a range of ids, by group of validators. */
export async function rowsByGroup(reader: StateReader, level: Level, ids: Range): Promise<Map<number, Uint8Array>> {
  const rows = new Map<number, Uint8Array>()
  for await (const batch of rowsBetween(reader, level.table, ids))
    for (const { id, data } of batch) rows.set(groupIn(level, id), data)
  return rows
}

/** Inserts rows, or replaces those with the same ids. */
export async function putRows(tx: StateWriter, table: string, rows: readonly PackedRow[]): Promise<void> {
  const values = rows.map(({ id, data }) => [id, data] as const)
  await tx.insertMany(table, ['id', 'data'], values, 'on conflict (id) do update set data = excluded.data')
}

export const removeBetween = (tx: StateWriter, table: string, { from, until }: Range): Promise<number> =>
  tx.run(`delete from ${table} where id >= ? and id < ?`, from, until)
