// Reads and writes rows of packed data in batches, in SQL that both engines share.
import type { Range } from '#core/ranges.ts'
import type { StateReader, StateWriter } from '#storage/state.ts'
import { groupIn, type Level } from './layout.ts'

/** Rows per statement when a range is read. */
const rowsPerQuery = 256

/** `columns` precede id and data. */
const byIds = (table: string, columns = ''): string =>
  `select ${columns}id, data from ${table} where id in (select value from json_each(?))`

const listOf = (ids: readonly number[]): string => `[${ids.join()}]`

export interface PackedRow {
  readonly id: number
  readonly data: Uint8Array
}

/** The rows that exist, in no particular order. */
export const rowsByIds = async (reader: StateReader, table: string, ids: readonly number[]): Promise<PackedRow[]> =>
  ids.length > 0 ? reader.all<PackedRow>(byIds(table), listOf(ids)) : []

/** The data of rows of several tables, in one statement, because PostgreSQL answers each statement separately. */
export async function dataOfTables(
  reader: StateReader,
  idsOf: ReadonlyMap<string, readonly number[]>,
): Promise<Map<string, Map<number, Uint8Array>>> {
  const tables = [...idsOf].filter(([, ids]) => ids.length > 0)
  const found = tables.map(() => new Map<number, Uint8Array>())
  if (tables.length > 0) {
    const sql = tables.map(([table], at) => byIds(table, `${at} as source, `)).join(' union all ')
    const values = tables.map(([, ids]) => listOf(ids))
    const rows = await reader.all<PackedRow & { readonly source: number }>(sql, ...values)
    for (const { source, id, data } of rows) found[source]?.set(id, data)
  }
  return new Map(tables.map(([table], at) => [table, found[at] as Map<number, Uint8Array>]))
}

export const dataByIds = async (
  reader: StateReader,
  table: string,
  ids: readonly number[],
): Promise<Map<number, Uint8Array>> => {
  const found = new Map<number, Uint8Array>()
  for (const { id, data } of await rowsByIds(reader, table, ids)) found.set(id, data)
  return found
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
