// Columns of validator duties.
import type { FactsMigration } from '../facts.ts'

export const migration: FactsMigration = { id: 1, name: 'duties', up: [] }
