// Cursors that mark a database as demo data, and how to recognise it (behaviour/operations.md#demo-data). In a file of
// its own, so that commands can check without loading the simulator.
import { cursorOf } from '#storage/coverage.ts'
import type { StateReader } from '#storage/state.ts'

export const startedCursor = 'demo/started'
export const finishedCursor = 'demo/finished'

const ownTables = {
  state: ['cursors', 'fx_rates', 'fx_quotes'],
  ingest: ['cursors', 'coverage', 'labels', 'market_records', 'validators'],
} as const

/** A database with keys only is empty: keys may be created before the first start. */
export async function contentsOf(
  stores: Readonly<Record<keyof typeof ownTables, StateReader>>,
): Promise<'nothing' | 'demo' | 'own'> {
  if ((await cursorOf(stores.state, startedCursor)) !== undefined) return 'demo'
  for (const name of ['state', 'ingest'] as const)
    for (const table of ownTables[name])
      if (await stores[name].get(`select 1 as one from ${table} limit 1`)) return 'own'
  return 'nothing'
}
