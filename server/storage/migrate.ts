// Applies migrations to a database.
//
// 1. A migration and its row in `migrations` are one transaction.
// 2. Each migration runs once, also if two processes start at the same time: the row is checked in the transaction.
// 3. A database with an unknown migration is refused and not changed. So is one of a development version, whose migrations
//    have other names.
// 4. Inspecting and migrating are separate steps, because further checks run in between (open.ts).
import { strict as assert } from 'node:assert'
import { Fault } from '#core/fault.ts'

/** What a migration needs of a transaction. */
export interface MigrationTransaction {
  /** The number and recorded name of each applied migration. */
  applied(): Promise<ReadonlyMap<number, string>>
  run(sql: string): Promise<void>
  record(id: number, name: string): Promise<void>
}

export interface MigrationStep {
  readonly id: number
  readonly name: string
  readonly statements: readonly string[]
}

const migrationsTable = 'create table if not exists migrations (id integer primary key, name text not null)'

/** An open database that has not been migrated yet. */
export interface InspectedStore<S> {
  readonly store: S
  /** The number of its newest migration; 0: empty. */
  readonly version: number
  /** Existing tables would be changed. */
  readonly isBehind: boolean
  migrate(): Promise<void>
}

export async function inspectStore<S>(
  store: S,
  name: string,
  steps: readonly MigrationStep[],
  inTransaction: (work: (transaction: MigrationTransaction) => Promise<void>) => Promise<void>,
): Promise<InspectedStore<S>> {
  steps.forEach((step, index) => {
    assert(step.id === index + 1, `migration ${step.id} (${step.name}) is at position ${index + 1} of the list`)
  })
  let version = 0
  let applied: ReadonlyMap<number, string> = new Map()
  await inTransaction(async (transaction) => {
    await transaction.run(migrationsTable)
    applied = await transaction.applied()
    version = Math.max(0, ...applied.keys())
  })
  refuseDevelopment(name, applied, steps)
  refuseNewer(name, version, steps)
  return {
    store,
    version,
    isBehind: version > 0 && version < steps.length,
    async migrate() {
      for (const step of steps) await inTransaction((transaction) => apply(transaction, step))
    },
  }
}

export async function migrateStore<S extends { close(): Promise<void> }>({
  store,
  migrate,
}: InspectedStore<S>): Promise<S> {
  try {
    await migrate()
    return store
  } catch (error) {
    await store.close()
    throw error
  }
}

async function apply(transaction: MigrationTransaction, step: MigrationStep): Promise<void> {
  const applied = await transaction.applied()
  if (applied.has(step.id)) return
  for (const statement of step.statements) await transaction.run(statement)
  await transaction.record(step.id, step.name)
}

function refuseDevelopment(name: string, names: ReadonlyMap<number, string>, steps: readonly MigrationStep[]): void {
  if (steps.every((step) => (names.get(step.id) ?? step.name) === step.name)) return
  throw new Fault('store.unavailable', {
    detail:
      `${name} cannot be opened because a development version from before the release of 0.1.0 wrote it, and its tables cannot be ` +
      'upgraded: use a new data folder or an empty database, then create keys and import labels and entities again',
  })
}

function refuseNewer(name: string, version: number, steps: readonly MigrationStep[]): void {
  if (version <= steps.length) return
  throw new Fault('store.unavailable', {
    detail:
      `${name} was written by a newer version: its schema has number ${version}, this version knows ${steps.length}. ` +
      'Start the newer version again, or restore the copy of the data folder made before the upgrade.',
  })
}
