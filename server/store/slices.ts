// Tables of the facts by name, and which of their rows a slice means.
import { strict as assert } from 'node:assert'
import type { Cell, FactsMigration, FactsTable, Slice } from './facts.ts'

export type Tables = ReadonlyMap<string, FactsTable>

export const tablesOf = (migrations: readonly FactsMigration[]): Tables =>
  new Map(migrations.flatMap(({ tables = [] }) => tables).map((table) => [table.name, table]))

export function tableOf(tables: Tables, name: string): FactsTable {
  const table = tables.get(name)
  assert(table, `${name} declares no slices: name its key in a migration`)
  return table
}

export function sliceSql(table: FactsTable, { key, from, until }: Slice): { where: string; values: Cell[] } {
  const { window } = table
  assert(window || (from === undefined && until === undefined), `${table.name} has no window to remove a part of`)
  const bounds = [
    [`${table.key} = ?`, key],
    [`${window?.column} >= ?`, from],
    [`${window?.column} < ?`, until],
  ].filter(([, value]) => value !== undefined)
  return { where: bounds.map(([sql]) => sql).join(' and '), values: bounds.map(([, value]) => value as Cell) }
}
