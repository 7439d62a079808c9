// Tables of: fx.
import type { Migration } from '../state.ts'

export const migration: Migration = { id: 3, name: 'fx', up: () => [] }
