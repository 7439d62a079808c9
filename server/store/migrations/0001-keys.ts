// Tables of: keys.
import type { Migration } from '../state.ts'

export const migration: Migration = { id: 1, name: 'keys', up: () => [] }
