// Tables of: validators.
import type { Migration } from '../state.ts'

export const migration: Migration = { id: 4, name: 'validators', up: () => [] }
