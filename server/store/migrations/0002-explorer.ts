// Tables of: explorer.
import type { Migration } from '../state.ts'

export const migration: Migration = { id: 2, name: 'explorer', up: () => [] }
