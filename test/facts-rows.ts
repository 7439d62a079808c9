// Everything that the facts hold, in an order of its own and in words that every engine understands.
import type { FactRow, FactsReader } from '#store/facts.ts'
import { factsMigrations } from '#store/migrations.ts'

/** By table. Rows that may lie there in parts are added up; where they may not, how many there are is told with them. */
export async function everyRow(facts: FactsReader): Promise<Readonly<Record<string, FactRow[]>>> {
  const tables = factsMigrations.flatMap((migration) => migration.tables ?? [])
  const rows: Record<string, FactRow[]> = {}
  for (const { name, columns, sums = [] } of tables) {
    const keys = Object.keys(columns).filter((column) => !sums.includes(column))
    const added = sums.map((column) => `sum(${column}) as ${column}`)
    const counted = sums.length > 0 && facts.engine === 'duckdb' ? ['count(*) as parts'] : []
    const grouping = sums.length > 0 ? `group by ${keys.join()}` : ''
    rows[name] = await facts.query(
      `select ${[...keys, ...added, ...counted].join()} from ${name} ${grouping} order by ${keys.join()}`,
    )
  }
  return rows
}
