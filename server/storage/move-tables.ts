// Reads the tables of a SQLite database with columns, primary keys and foreign keys, in an order for copying.
import { strict as assert } from 'node:assert'
import type { State } from './state.ts'

export interface Table {
  readonly name: string
  readonly columns: readonly string[]
  /** Columns of the primary key; empty if there is none. */
  readonly key: readonly string[]
  /** Tables that it references. */
  readonly refersTo: readonly string[]
}

/** Referenced tables come first. */
export async function tablesOf(state: State): Promise<Table[]> {
  assert(state.engine === 'sqlite', 'only SQLite can be moved')
  const names = await state.all<{ name: string }>(
    `select name from sqlite_master where type = 'table' and name not like 'sqlite%' and name <> 'migrations' order by name`,
  )
  const tables: Table[] = []
  for (const { name } of names) {
    const columns = await state.all<{ name: string; pk: number }>(`select name, pk from pragma_table_info('${name}')`)
    const parents = await state.all<{ parent: string }>(
      `select distinct "table" as parent from pragma_foreign_key_list('${name}')`,
    )
    tables.push({
      name,
      columns: columns.map((column) => column.name),
      key: columns
        .filter(({ pk }) => pk > 0)
        .sort((a, b) => a.pk - b.pk)
        .map((column) => column.name),
      refersTo: parents.map(({ parent }) => parent),
    })
  }
  return inOrder(tables)
}

function inOrder(tables: readonly Table[]): Table[] {
  const sorted = new Map<string, Table>()
  const visit = (table: Table, above: readonly string[]): void => {
    assert(!above.includes(table.name), `circular foreign keys: ${above.join(', ')}`)
    for (const parent of tables.filter(({ name }) => table.refersTo.includes(name) && name !== table.name))
      visit(parent, [...above, table.name])
    sorted.set(table.name, table)
  }
  for (const table of tables) visit(table, [])
  return [...sorted.values()]
}
