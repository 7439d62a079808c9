// Writes rows that replace existing ones with the same key.
import type { StateWriter, Value } from './state.ts'

/** Inserts the row, or replaces these columns of the row with the same key. */
export async function putRow(
  tx: StateWriter,
  table: string,
  key: readonly string[],
  row: Readonly<Record<string, Value>>,
): Promise<void> {
  const columns = Object.keys(row)
  const placeholders = columns.map(() => '?').join(', ')
  const sql = `insert into ${table} (${columns.join(', ')}) values (${placeholders}) ${replaceOnConflict(key, columns)}`
  await tx.run(sql, ...Object.values(row))
}

/** The end of an insert statement: an existing row with the same key gets the new values. */
export function replaceOnConflict(key: readonly string[], columns: readonly string[]): string {
  const set = columns.filter((column) => !key.includes(column)).map((column) => `${column} = excluded.${column}`)
  return `on conflict (${key.join(', ')}) do ${set.length > 0 ? `update set ${set.join(', ')}` : 'nothing'}`
}
