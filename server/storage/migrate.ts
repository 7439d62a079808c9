// Applies migrations to a database.
//
// 1. A migration and its row in `migrations` are one transaction.
// 2. Each migration runs once, also if two processes start at the same time: the row is checked in the transaction.
// 3. A database with an unknown migration is refused and not changed. So is one of a development version, whose migrations
//    have other names.
// 4. Inspecting and migrating are separate steps, because further checks run in between (open.ts).
// 5. A database that is up to date is only read. Otherwise a command that opens all databases of a folder would wait for
//    whoever writes one of them.
import { strict as assert } from 'node:assert'
import { Fault } from '#core/fault.ts'
import type { Migration, State, StateDialect, StateReader, StateWriter } from './state.ts'

/** The SQL of an engine. */
export interface MigrationEngine {
  readonly dialect: StateDialect
  /** Finds a row if the table `migrations` exists. */
  readonly findTableSql: string
  toSql(statement: string): string
}

/** Building an index over hundreds of millions of rows may take hours. */
const longWrite = { lock: 'schema', isLong: true } as const

const migrationsTable = 'create table if not exists migrations (id integer primary key, name text not null)'

/** An open database that has not been migrated yet. */
export interface UnmigratedStore {
  readonly store: State
  /** The number of its newest migration; 0: empty. */
  readonly version: number
  /** Existing tables would be changed. */
  readonly isBehind: boolean
  migrate(): Promise<void>
}

export async function checkMigrations(
  store: State,
  name: string,
  migrations: readonly Migration[],
  engine: MigrationEngine,
): Promise<UnmigratedStore> {
  migrations.forEach((migration, index) => {
    assert(migration.id === index + 1, `migration ${migration.id} (${migration.name}) is at position ${index + 1}`)
  })
  const isNew = (await store.get(engine.findTableSql)) === undefined
  if (isNew) await store.write((tx) => tx.run(migrationsTable), { lock: 'schema' })
  const applied = await readApplied(store)
  const version = Math.max(0, ...applied.keys())
  refuseDevelopment(name, applied, migrations)
  refuseNewer(name, version, migrations)
  return {
    store,
    version,
    isBehind: version > 0 && version < migrations.length,
    async migrate() {
      for (const migration of migrations) {
        if (!applied.has(migration.id)) await store.write((tx) => apply(tx, migration, engine), longWrite)
      }
    },
  }
}

export async function migrateStore({ store, migrate }: UnmigratedStore): Promise<State> {
  try {
    await migrate()
    return store
  } catch (error) {
    await store.close()
    throw error
  }
}

/** The number and recorded name of each applied migration. */
async function readApplied(reader: StateReader): Promise<ReadonlyMap<number, string>> {
  const rows = await reader.all<{ id: number; name: string }>('select id, name from migrations')
  return new Map(rows.map(({ id, name }) => [id, name]))
}

async function apply(tx: StateWriter, { id, name, up }: Migration, engine: MigrationEngine): Promise<void> {
  if ((await readApplied(tx)).has(id)) return
  for (const statement of up(engine.dialect)) await tx.run(engine.toSql(statement))
  await tx.run('insert into migrations (id, name) values (?, ?)', id, name)
}

function refuseDevelopment(name: string, applied: ReadonlyMap<number, string>, migrations: readonly Migration[]): void {
  if (migrations.every((migration) => (applied.get(migration.id) ?? migration.name) === migration.name)) return
  throw new Fault('store.unavailable', {
    detail:
      `${name} cannot be opened because a development version from before the release of 0.1.0 wrote it, and its tables cannot be ` +
      'upgraded: use a new data folder or an empty database, then create keys and import labels and entities again',
  })
}

function refuseNewer(name: string, version: number, migrations: readonly Migration[]): void {
  if (version <= migrations.length) return
  throw new Fault('store.unavailable', {
    detail:
      `${name} was written by a newer version: its schema has number ${version}, this version knows ${migrations.length}. ` +
      'Start the newer version again, or restore the copy of the data folder made before the upgrade.',
  })
}
