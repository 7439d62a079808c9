// Cursors that mark a database as demo data, and how to recognise it (behaviour/operations.md#demo-data). In a file of
// its own, so that commands can check without loading the simulator.
import { cursorOf } from '#storage/coverage.ts'
import type { StateReader } from '#storage/state.ts'

export const startedCursor = 'demo/started'
export const finishedCursor = 'demo/finished'

const ownTables = ['cursors', 'coverage', 'labels', 'market_documents', 'fx_rates', 'fx_quotes', 'validators']

/** A database with keys only is empty: keys may be created before the first start. */
export async function contentsOf(state: StateReader): Promise<'nothing' | 'demo' | 'own'> {
  if ((await cursorOf(state, startedCursor)) !== undefined) return 'demo'
  for (const table of ownTables) if (await state.get(`select 1 as one from ${table} limit 1`)) return 'own'
  return 'nothing'
}
