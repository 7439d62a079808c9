// Reads and writes rows of packed data in batches, in SQL that both engines share.
import type { Range } from '#core/ranges.ts'
import type { StateReader, StateWriter } from '#storage/state.ts'
import { groupIn, type Level } from './layout.ts'

/** Ids per statement. Few sizes, so that few statements are prepared; the last id is repeated to fill a statement. */
const idsPerQuery = [16, 64, 256] as const
const idsMax = 256
/** Rows per statement when a range is read. */
const rowsPerQuery = 256

/** Statements by their key, because building them for every query takes longer than finding them. */
const statements = new Map<string, string>()

function statementOf(key: string, build: () => string): string {
  const known = statements.get(key)
  if (known !== undefined) return known
  const sql = build()
  statements.set(key, sql)
  return sql
}

const byIds = (table: string, count: number): string =>
  statementOf(
    `${table} ${count}`,
    () => `select id, data from ${table} where id in (${new Array(count).fill('?').join()})`,
  )

/** The rows of several tables, with the index of their table. */
const byTableAndIds = (tables: readonly string[], count: number): string =>
  statementOf(`${tables.join()} ${count}`, () =>
    tables.map((table, at) => byIds(table, count).replace('select', `select ${at} as place,`)).join(' union all '),
  )

export interface PackedRow {
  readonly id: number
  readonly data: Uint8Array
}

/** The rows that exist, in no particular order. */
export async function rowsByIds(reader: StateReader, table: string, ids: readonly number[]): Promise<PackedRow[]> {
  const [only] = ids
  if (only !== undefined && ids.length === 1) {
    const row = await reader.get<PackedRow>(`select id, data from ${table} where id = ?`, only)
    return row ? [row] : []
  }
  const rows: PackedRow[] = []
  for (let at = 0; at < ids.length; at += idsMax) {
    const batch = ids.slice(at, at + idsMax)
    const size = idsPerQuery.find((count) => count >= batch.length) ?? idsMax
    for (const row of await reader.all<PackedRow>(byIds(table, size), ...padded(batch, size))) rows.push(row)
  }
  return rows
}

const padded = (ids: readonly number[], size: number): number[] => [
  ...ids,
  ...new Array<number>(size - ids.length).fill(ids.at(-1) as number),
]

/** The data of rows of several tables. Few rows are read in one statement, because PostgreSQL answers each separately. */
export async function dataOfTables(
  reader: StateReader,
  idsOf: ReadonlyMap<string, readonly number[]>,
): Promise<Map<string, Map<number, Uint8Array>>> {
  const tables = [...idsOf].filter(([, ids]) => ids.length > 0)
  const found = new Map(tables.map(([table]) => [table, new Map<number, Uint8Array>()]))
  const [size] = idsPerQuery
  if (tables.length > 1 && tables.every(([, ids]) => ids.length <= size)) {
    const names = tables.map(([table]) => table)
    const values = tables.flatMap(([, ids]) => padded(ids, size))
    const rows = await reader.all<PackedRow & { readonly place: number }>(byTableAndIds(names, size), ...values)
    for (const { place, id, data } of rows) found.get(names[place] as string)?.set(id, data)
    return found
  }
  for (const [table, ids] of tables) found.set(table, await dataByIds(reader, table, ids))
  return found
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
