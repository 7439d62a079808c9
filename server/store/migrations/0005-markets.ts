// Tables of: markets.
import type { Migration } from '../state.ts'

export const migration: Migration = { id: 5, name: 'markets', up: () => [] }
