// The migrations of both databases. Migration 1 is the whole schema (./schema). To change a released schema, append a
// migration with the next number; never edit a released one.
import { coreSchema } from './schema/core.ts'
import { dutiesSchema } from './schema/duties.ts'
import { explorerSchema } from './schema/explorer.ts'
import { fxSchema } from './schema/fx.ts'
import { marketsSchema } from './schema/markets.ts'
import { validatorsSchema } from './schema/validators.ts'
import type { Migration, StateDialect } from './state.ts'

type Schema = (dialect: StateDialect) => readonly string[]

/** Migration 1. Databases whose migration 1 has another name are refused (migrate.ts). */
const schemaOf = (...parts: readonly Schema[]): Migration => ({
  id: 1,
  name: 'schema',
  up: (dialect) => parts.flatMap((part) => part(dialect)),
})

/** The state: `state.sqlite`, or the PostgreSQL database of `store.state`. */
export const stateMigrations: readonly Migration[] = [
  schemaOf(coreSchema, explorerSchema, fxSchema, validatorsSchema, marketsSchema),
]

/** Validator duties: `duties.sqlite`, or a second schema in PostgreSQL. */
export const dutiesMigrations: readonly Migration[] = [schemaOf(dutiesSchema)]
