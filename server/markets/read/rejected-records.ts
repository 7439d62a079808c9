// Reads which records of feeds could not be stored (write/rejects.ts).
import type { StateReader } from '#storage/state.ts'
import type { MarketKey } from '../records/kinds.ts'

/** Whether one of these feeds shows a market under this slug or id that cannot be stored. */
export async function isRejected(reader: StateReader, key: MarketKey, sources: readonly string[]): Promise<boolean> {
  if (sources.length === 0) return false
  const [column, value] = typeof key === 'string' ? ['slug', key] : ['id', key.id]
  const sql = `select source from market_rejects
    where ${column} = ? and kind = 'market' and source in (${sources.map(() => '?').join()}) limit 1`
  return (await reader.get(sql, value, ...sources)) !== undefined
}

export interface RejectRow {
  readonly source: string
  readonly kind: string
  readonly id: string
  readonly slug: string
  readonly field: string
  readonly reason: string
  readonly location: string
  readonly times: number
  readonly firstMs: number
  readonly lastMs: number
}

export const listRejects = (reader: StateReader, max: number): Promise<RejectRow[]> =>
  reader.all<RejectRow>(
    `select source, kind, id, slug, field, reason, location, times, first_ms as "firstMs", last_ms as "lastMs"
     from market_rejects order by last_ms desc, source, kind, id, slug, field limit ?`,
    max,
  )
