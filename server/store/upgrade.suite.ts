// What an upgrade does to rows that are there. Every version of the state is filled, in every table it has, and taken to the next:
// rows stay as they are but for what is written down here, and every engine ends up with the rows that the embedded one has.
import { strict as assert } from 'node:assert'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { openSqlite } from './engines/sqlite.ts'
import { stateMigrations } from './migrations.ts'
import { type Table, tablesOf } from './move-tables.ts'
import type { StatePlace } from './state.suite.ts'
import type { State, Value } from './state.ts'

/** Migration → what it takes away or writes anew of rows that were there. */
const changes: Readonly<Record<number, readonly string[]>> = {}

type Row = Readonly<Record<string, Value>>
/** Table → its rows, in no order that an engine chose. */
type Contents = ReadonlyMap<string, readonly Row[]>

export function upgradeSuite(name: string, place: () => Promise<StatePlace>): void {
  test(`${name}: an upgrade from any version keeps the rows of every table (state migrations 1 to ${stateMigrations.length})`, async () => {
    await using here = await place()
    const dir = await mkdtemp(join(tmpdir(), 'tetrad-upgrade-'))
    await using undo = new AsyncDisposableStack()
    undo.defer(() => rm(dir, { recursive: true, force: true }))
    let before: Contents = new Map()
    let known: readonly Table[] = []
    for (const { id } of stateMigrations) {
      const migrations = stateMigrations.slice(0, id)
      const plain = await openSqlite(join(dir, 'state.sqlite'), migrations, { busyWaitMs: 5000 })
      const state = await here.open(migrations)
      try {
        const tables = await tablesOf(plain)
        const upgraded = await contentsOf(state, tables)
        assert.deepEqual(upgraded, await contentsOf(plain, tables), `the engines differ after migration ${id}`)
        assert.deepEqual(touched(known, before, upgraded), changes[id] ?? [], `migration ${id} changes rows`)
        for (const one of [plain, state]) await fill(one, await rowsFor(plain, tables, id))
        known = tables
        before = await contentsOf(state, tables)
      } finally {
        await plain.close()
        await state.close()
      }
    }
    for (const [table, rows] of before) assert.ok(rows.length >= 2, `${table} has no rows`)
  })
}

/** Columns of which a row that was there has lost its value. */
function touched(tables: readonly Table[], before: Contents, after: Contents): string[] {
  return tables.flatMap(({ name, columns, key }) => {
    const [was, is] = [before.get(name) ?? [], after.get(name) ?? []]
    return columns
      .filter((column) => {
        const there = new Set(is.map((row) => textOf(row, [...key, column])))
        return !was.every((row) => there.has(textOf(row, [...key, column])))
      })
      .map((column) => `${name}.${column}`)
  })
}

const textOf = (row: Row, columns: readonly string[]): string =>
  JSON.stringify(columns.map((column) => (column in row ? row[column] : 'no such column')))

async function contentsOf(state: State, tables: readonly Table[]): Promise<Contents> {
  const found = new Map<string, readonly Row[]>()
  for (const { name, columns } of tables) {
    const rows = await state.all<Row>(`select * from ${name}`)
    const keyed = rows.map((row) => [textOf(row, columns), row] as const)
    found.set(
      name,
      keyed.sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row),
    )
  }
  return found
}

interface Filling {
  readonly table: string
  readonly columns: readonly string[]
  readonly rows: readonly (readonly Value[])[]
}

/** Two rows for each table, the second with nothing where nothing may be; both unlike those of other versions. */
async function rowsFor(plain: State, tables: readonly Table[], version: number): Promise<Filling[]> {
  const fillings: Filling[] = []
  for (const { name, columns } of tables) {
    const types = await plain.all<Column>(
      `select name, type, "notnull" or pk as needed from pragma_table_info('${name}')`,
    )
    const rowOf = (at: number, bare: boolean) =>
      types.map((column) => (bare && !column.needed ? null : cell(column, at)))
    fillings.push({ table: name, columns, rows: [rowOf(2 * version, false), rowOf(2 * version + 1, true)] })
  }
  return fillings
}

interface Column {
  readonly name: string
  readonly type: string
  readonly needed: number
}

/** The same for all columns of a type, so that what refers to another row finds it. */
function cell({ name, type }: Column, at: number): Value {
  if (/blob/i.test(type)) return Uint8Array.of(0, at)
  // Some texts are lists.
  if (/text/i.test(type)) return JSON.stringify([`of ${at}`])
  return name === 'until_at' ? at + 1 : at
}

const fill = (state: State, fillings: readonly Filling[]): Promise<void> =>
  state.write(async (tx) => {
    for (const { table, columns, rows } of fillings) await tx.insertMany(table, columns, rows)
  })
