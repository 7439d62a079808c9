// The mark that the demo world leaves in its folder before its first row, and what a folder holds by it (behaviour/operations.md#demo-data).
// On its own, so that a command which only looks for the mark does not load the world.
import { cursorOf } from '#storage/coverage.ts'
import type { StateReader } from '#storage/state.ts'

export const begun = 'demo world begun'
export const finished = 'demo world finished'

const ownTables = ['cursors', 'coverage', 'labels', 'market_documents', 'fx_rates', 'fx_quotes', 'validators']

/** Keys alone are nothing yet: they may be made before the first start. */
export async function contentsOf(state: StateReader): Promise<'nothing' | 'demo' | 'own'> {
  if ((await cursorOf(state, begun)) !== undefined) return 'demo'
  for (const table of ownTables) if (await state.get(`select 1 as one from ${table} limit 1`)) return 'own'
  return 'nothing'
}
