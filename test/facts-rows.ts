// Everything that the facts hold, in an order of its own.
import type { FactRow, FactsReader } from '#store/facts.ts'
import { factsMigrations } from '#store/migrations.ts'

/** By table. Rows with equal keys are added up, with their number beside the sums: it must be one. */
export async function everyRow(facts: FactsReader): Promise<Readonly<Record<string, FactRow[]>>> {
  const tables = factsMigrations.flatMap((migration) => migration.tables ?? [])
  const rows: Record<string, FactRow[]> = {}
  for (const { name, columns, sums = [] } of tables) {
    const keys = Object.keys(columns).filter((column) => !sums.includes(column))
    const added = sums.map((column) => `sum(${column}) as ${column}`)
    const counted = sums.length > 0 ? ['count(*) as parts'] : []
    const grouping = sums.length > 0 ? `group by ${keys.join()}` : ''
    rows[name] = await facts.query(
      `select ${[...keys, ...added, ...counted].join()} from ${name} ${grouping} order by ${keys.join()}`,
    )
  }
  return rows
}
