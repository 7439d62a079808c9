// Reads the rows of many keys. A statement takes a limited number of values.
import type { StateReader, Value } from './state.ts'

/** Well below the parameter limit of both engines. */
const keysPerStatement = 500

/** `sql` ends with `… in`, and has placeholders for `values` only. */
export async function selectIn<R>(
  reader: StateReader,
  sql: string,
  values: readonly Value[],
  keys: readonly Value[],
): Promise<R[]> {
  const rows: R[] = []
  for (let from = 0; from < keys.length; from += keysPerStatement) {
    const part = keys.slice(from, from + keysPerStatement)
    rows.push(...(await reader.all<R>(`${sql} (${part.map(() => '?').join()})`, ...values, ...part)))
  }
  return rows
}
