// The database interface on PostgreSQL, for several processes. How it keeps the guarantees of state.ts:
//
// - A write takes only the lock that it names. Writes with other locks run at the same time, also in other processes
//   (writers.ts; rule 2).
// - Reads use read-only connections (pool.ts). Each iteration has its own connection and snapshot (iterations.ts).
// - `version` comes from a table in which every write counts its commits. It is polled twice a second (commit-watch.ts;
//   rule 3).
// - `recent` reads from replicas that have every commit that this process knows of (replicas.ts; rule 8).
// - `writeTogether` commits the items of several callers in one transaction (../group-commit.ts; rule 6).
import { checkMigrations, type MigrationEngine, type UnmigratedStore } from '../migrate.ts'
import type { Migration, Row, State, Value } from '../state.ts'
import { closedFault } from '../write-queue.ts'
import { type PostgresAddress, parsePostgresUrl } from './address.ts'
import { CommitWatch } from './commit-watch.ts'
import { dialect, toPostgresSql } from './dialect.ts'
import { explainPostgresError } from './errors.ts'
import { Iterations } from './iterations.ts'
import { outageWaitMs } from './outage.ts'
import { createSessionPool } from './pool.ts'
import { createReplicas } from './replicas.ts'
import { type PostgresSession, sessionReader } from './session.ts'
import { Writers } from './writers.ts'

export interface PostgresOptions {
  readonly connections: number
  readonly replicas?: readonly string[]
  /** Suffix of a separate schema for the tables (address.ts). */
  readonly schemaSuffix?: string
  /** How long to wait during an outage. */
  readonly waitMs?: number
}

export async function openUnmigratedPostgres(
  url: string,
  migrations: readonly Migration[],
  options: PostgresOptions,
): Promise<UnmigratedStore> {
  const address = parsePostgresUrl(url, options.schemaSuffix)
  const { state, open } = createPostgresState(address, options)
  try {
    await open()
    return await checkMigrations(state, address.name, migrations, migrationEngine)
  } catch (error) {
    await state.close()
    throw explainPostgresError(error, address.name)
  }
}

const migrationEngine: MigrationEngine = {
  dialect,
  // In the schema in which it would be created.
  findTableSql: "select 1 as found from pg_tables where schemaname = current_schema() and tablename = 'migrations'",
  toSql: toPostgresSql,
  // Building an index over hundreds of millions of rows may take hours.
  async run(tx, sql) {
    await tx.run('set local statement_timeout = 0')
    await tx.run(sql)
  },
}

/** The state can be used when `open` has ended. */
function createPostgresState(
  address: PostgresAddress,
  { connections, replicas: replicaUrls = [], waitMs = outageWaitMs }: PostgresOptions,
): { readonly state: State; open(): Promise<void> } {
  /** Undefined before `open` and after `close`. */
  let openWatch: CommitWatch | undefined
  const writers = new Writers(address, waitMs, (commit) => openWatch?.noteOwnCommit(commit))
  const readers = createSessionPool(address, 'read', connections, waitMs)
  const iterations = new Iterations(address, waitMs)
  const replicaAddresses = replicaUrls.map((url) => parsePostgresUrl(url, address.schemaSuffix))
  const replicas = createReplicas(replicaAddresses, connections)

  function getWatch(): CommitWatch {
    if (!openWatch) throw closedFault(address.name)
    return openWatch
  }

  async function open(): Promise<void> {
    await writers.open()
    openWatch = await CommitWatch.open(address, {
      onDead: () => {
        writers.dropConnections()
        iterations.dropConnections()
        readers.dropConnections()
      },
      onTimelineWithoutId: () => {
        // Until the timeline has an id, no replica is used. If storing it fails, the next poll tries again.
        if (replicaUrls.length > 0) writers.storeTimelineId().catch(() => {})
      },
    })
  }

  async function close(): Promise<void> {
    await writers.close()
    const watch = openWatch
    openWatch = undefined
    await watch?.close()
    await Promise.all([readers.close(), replicas.close(), iterations.close()])
  }

  const primary: Pick<State, 'get' | 'all' | 'snapshot'> = {
    ...sessionReader((work) => readers.read(work)),
    snapshot(work, signal) {
      const readInSession = (session: PostgresSession) => {
        signal?.throwIfAborted()
        return work(sessionReader((read) => read(session)))
      }
      return readers.read(readInSession, 'isolation level repeatable read')
    },
  }
  const state: State = {
    engine: 'postgres',
    ...primary,
    recent: replicas.reader(primary, () => getWatch().requiredPosition()),
    hasReplicas: replicaUrls.length > 0,
    each: <R = Row>(sql: string, ...values: Value[]) => iterations.each<R>(sql, values),
    write: (work, options) => writers.write(work, options),
    writeTogether: (write, item) => writers.writeTogether(write, item),
    version: (group) => getWatch().version(group),
    close,
  }
  return { state, open }
}
