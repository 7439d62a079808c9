// The migrations of each database, in order. Migration 1 is the whole schema (./schema). To change a released schema, append a
// migration with the next number; never edit one that was released.
import type { FactsMigration } from './facts.ts'
import { migration as duties } from './migrations/facts-0001-duties.ts'
import { migration as dutiesCoverage } from './migrations/facts-0002-coverage.ts'
import { migration as beacon } from './migrations/facts-0003-beacon.ts'
import { migration as audits } from './migrations/facts-0004-audits.ts'
import { migration as watched } from './migrations/facts-0005-watched.ts'
import { migration as lapses } from './migrations/facts-0006-lapses.ts'
import { migration as windows } from './migrations/facts-0007-windows.ts'
import { coreSchema } from './schema/core.ts'
import { explorerSchema } from './schema/explorer.ts'
import { fxSchema } from './schema/fx.ts'
import { marketsSchema } from './schema/markets.ts'
import { validatorsSchema } from './schema/validators.ts'
import type { Migration, StateDialect } from './state.ts'

type Schema = (dialect: StateDialect) => readonly string[]

/** Migration 1. Data of versions whose migration 1 has another name is refused (migrate.ts). */
const schemaOf = (...parts: readonly Schema[]): Migration => ({
  id: 1,
  name: 'schema',
  up: (dialect) => parts.flatMap((part) => part(dialect)),
})

/** The state: `state.sqlite`, or the PostgreSQL database of `store.state`. */
export const stateMigrations: readonly Migration[] = [
  schemaOf(coreSchema, explorerSchema, fxSchema, validatorsSchema, marketsSchema),
]

export const factsMigrations: readonly FactsMigration[] = [
  duties,
  dutiesCoverage,
  beacon,
  audits,
  watched,
  lapses,
  windows,
]
