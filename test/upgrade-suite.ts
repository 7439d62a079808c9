// Tests that an upgrade keeps all rows: every table is filled, and then a migration of the tests is applied. All engines
// must end with the same rows.
import { strict as assert } from 'node:assert'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { Fault } from '#core/fault.ts'
import { stateMigrations } from '#storage/migrations.ts'
import { type Table, tablesOf } from '#storage/move-tables.ts'
import type { Migration, State, Value } from '#storage/state.ts'
import { openSqlite } from './open-database.ts'
import type { CreateLocation } from './state-suite/store-location.ts'

/** A later version: a new table and a new column, both filled from existing rows, and an index. */
export const testMigration: Migration = {
  id: stateMigrations.length + 1,
  name: 'test',
  up: ({ clustered }) => [
    `create table test_streams (stream text primary key, ranges bigint not null) ${clustered}`,
    'insert into test_streams (stream, ranges) select stream, count(*) from coverage group by stream',
    'alter table cursors add column twice bigint not null default 0',
    'update cursors set twice = 2 * at',
    'create index cursors_by_twice on cursors (twice)',
  ],
}
export const laterMigrations: readonly Migration[] = [...stateMigrations, testMigration]

type Row = Readonly<Record<string, Value>>
/** Table → rows, in an order that does not depend on the engine. */
type Contents = ReadonlyMap<string, readonly Row[]>

export function upgradeSuite(name: string, createLocation: CreateLocation): void {
  test(`${name}: a migration keeps the rows of every table`, async () => {
    await using location = await createLocation()
    const dir = await mkdtemp(join(tmpdir(), 'tetrad-upgrade-'))
    await using undo = new AsyncDisposableStack()
    undo.defer(() => rm(dir, { recursive: true, force: true }))
    const opened = async (migrations: readonly Migration[]) => ({
      plain: await openSqlite(join(dir, 'state.sqlite'), migrations, { busyWaitMs: 5000 }),
      state: await location.open(migrations),
    })

    const first = await opened(stateMigrations)
    const known = await tablesOf(first.plain)
    for (const one of [first.plain, first.state]) await fill(one, await rowsFor(first.plain, known))
    const before = await contentsOf(first.state, known)
    for (const [table, rows] of before) assert.ok(rows.length >= 2, `${table} has no rows`)
    for (const one of [first.plain, first.state]) await one.close()

    const second = await opened(laterMigrations)
    const tables = await tablesOf(second.plain)
    const after = await contentsOf(second.state, tables)
    assert.deepEqual(after, await contentsOf(second.plain, tables), 'the engines differ')
    assert.deepEqual(touched(known, before, after), [])
    assert.equal(after.get('test_streams')?.length, 2)
    for (const { at, twice } of after.get('cursors') ?? []) assert.equal(twice, 2 * Number(at))
    for (const one of [second.plain, second.state]) await one.close()
  })

  test(`${name}: a database of a development version is refused and not changed`, async () => {
    await using location = await createLocation()
    const old = ['keys', 'explorer', 'fx'].map(
      (title, at): Migration => ({ id: at + 1, name: title, up: () => [`create table ${title} (n bigint)`] }),
    )
    const state = await location.open(old)
    await state.write((tx) => tx.run('insert into keys values (7)'))
    await state.close()
    for (const migrations of [stateMigrations, laterMigrations])
      await assert.rejects(location.open(migrations), (error) => {
        assert.ok(error instanceof Fault && error.code === 'store.unavailable')
        assert.match(error.message, /development version .* wrote it.* cannot be upgraded: use a new data folder/)
        return true
      })
    const again = await location.open(old)
    assert.deepEqual(await again.all('select n from keys'), [{ n: 7 }])
    await again.close()
  })
}

/** Columns in which an existing row has lost its value. */
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

/** Two rows for each table, the second with null in all nullable columns. */
async function rowsFor(plain: State, tables: readonly Table[]): Promise<Filling[]> {
  const fillings: Filling[] = []
  for (const { name, columns } of tables) {
    const types = await plain.all<Column>(
      `select name, type, "notnull" or pk as needed from pragma_table_info('${name}')`,
    )
    const rowOf = (at: number, bare: boolean) =>
      types.map((column) => (bare && !column.needed ? null : cell(column, at)))
    fillings.push({ table: name, columns, rows: [rowOf(2, false), rowOf(3, true)] })
  }
  return fillings
}

interface Column {
  readonly name: string
  readonly type: string
  readonly needed: number
}

/** Equal for all columns of a type, so that foreign keys are satisfied. */
function cell({ name, type }: Column, at: number): Value {
  if (/blob/i.test(type)) return Uint8Array.of(0, at)
  // Some text columns contain lists.
  if (/text/i.test(type)) return JSON.stringify([`of ${at}`])
  return name === 'until_at' ? at + 1 : at
}

const fill = (state: State, fillings: readonly Filling[]): Promise<void> =>
  state.write(async (tx) => {
    for (const { table, columns, rows } of fillings) await tx.insertMany(table, columns, rows)
  })
