// The migrations of all databases. Migration 1 is the whole schema (./schema). To change a released schema, append a
// migration with the next number; never edit a released one.
import { hash } from 'node:crypto'
import { accessSchema, coverageSchema, cursorsSchema, leasesSchema } from './schema/core.ts'
import { dutiesSchema } from './schema/duties.ts'
import { explorerSchema, explorerSecretsSchema } from './schema/explorer.ts'
import { fxSchema } from './schema/fx.ts'
import { marketsSchema } from './schema/markets.ts'
import { validatorsSchema } from './schema/validators.ts'
import type { Migration, StateDialect } from './state.ts'

type Schema = (dialect: StateDialect) => readonly string[]

/** For the name only, which is the same on all engines. */
const plainDialect: StateDialect = { bytes: 'blob', strict: '', clustered: '' }

/**
 * Migration 1. Its name follows from its statements: databases whose migration 1 has another name are refused, because a
 * development version with other tables wrote them (migrate.ts).
 */
function schemaOf(...parts: readonly Schema[]): Migration {
  const up = (dialect: StateDialect) => parts.flatMap((part) => part(dialect))
  return { id: 1, name: `schema ${hash('sha256', JSON.stringify(up(plainDialect)), 'hex').slice(0, 8)}`, up }
}

/** Of `state.sqlite`. In a server, the main thread writes it. */
const stateSchemas = [accessSchema, fxSchema, explorerSecretsSchema]
/** Of `ingest.sqlite`. In a server, the ingest thread writes it, except two leases (ARCHITECTURE.md, "Data flow"). */
const ingestSchemas = [coverageSchema, leasesSchema, explorerSchema, validatorsSchema, marketsSchema]

/** The PostgreSQL database of `store.state`. */
export const stateMigrations: readonly Migration[] = [schemaOf(...stateSchemas, ...ingestSchemas, cursorsSchema)]

/** `state.sqlite` and `ingest.sqlite`. A change of `stateMigrations` belongs to one of them, or to both. */
export const stateFileMigrations: readonly Migration[] = [schemaOf(...stateSchemas, cursorsSchema)]
export const ingestFileMigrations: readonly Migration[] = [schemaOf(...ingestSchemas, cursorsSchema)]

export interface StateMigrations {
  /** Of PostgreSQL, which has everything in one schema. */
  readonly shared: readonly Migration[]
  /** Of the two files. */
  readonly state: readonly Migration[]
  readonly ingest: readonly Migration[]
}

export const allStateMigrations: StateMigrations = {
  shared: stateMigrations,
  state: stateFileMigrations,
  ingest: ingestFileMigrations,
}

/** Validator duties: `duties.sqlite`, or a second schema in PostgreSQL. */
export const dutiesMigrations: readonly Migration[] = [schemaOf(dutiesSchema)]
