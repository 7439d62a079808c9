// The database interface on PostgreSQL, for several processes. How it keeps the guarantees of state.ts:
//
// - A write takes only the lock that it names. Writes with other locks run at the same time, also in other processes
//   (writers.ts; rule 2).
// - Reads use read-only connections (pool.ts). Each iteration has its own connection and snapshot (iterations.ts).
// - `version` comes from a table in which every write counts its commits. It is polled twice a second (commit-watch.ts;
//   rule 3).
// - `recent` reads from replicas that have every commit that this process knows of (replicas.ts; rule 8).
// - `writeTogether` commits the items of several callers in one transaction (../group-commit.ts; rule 6).
import { Fault } from '#core/fault.ts'
import { checkMigrations, type MigrationEngine, type UnmigratedStore } from '../migrate.ts'
import type { Migration, Row, State, Value } from '../state.ts'
import { closedFault } from '../write-queue.ts'
import { type PostgresAddress, parsePostgresUrl } from './address.ts'
import { CommitWatch } from './commit-watch.ts'
import { dialect, toPostgresSql } from './dialect.ts'
import { ConnectionLost, explainPostgresError } from './errors.ts'
import { Iterations } from './iterations.ts'
import { createOutageRetry, outageWaitMs } from './outage.ts'
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
  /** The limit of a statement, except in long writes (session.ts, 5). Default: by purpose of the connection. */
  readonly statementMs?: number | undefined
  /** Called once with the reason while opening waits for a server that starts or fails over. Default: do not wait. */
  readonly onWait?: ((reason: string) => void) | undefined
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
}

/** The state can be used when `open` has ended. */
function createPostgresState(
  address: PostgresAddress,
  { connections, replicas: replicaUrls = [], waitMs = outageWaitMs, statementMs, onWait }: PostgresOptions,
): { readonly state: State; open(): Promise<void> } {
  /** Undefined before `open` and after `close`. */
  let openWatch: CommitWatch | undefined
  const writers = new Writers(address, waitMs, statementMs, (commit) => openWatch?.noteOwnCommit(commit))
  const readers = createSessionPool(address, 'read', connections, waitMs, statementMs)
  const iterations = new Iterations(address, waitMs)
  const replicaAddresses = replicaUrls.map((url) => parsePostgresUrl(url, address.schemaSuffix))
  const replicas = createReplicas(replicaAddresses, connections, statementMs)

  function getWatch(): CommitWatch {
    if (!openWatch) throw closedFault(address.name)
    return openWatch
  }

  /** Not for a wrong password or database, which stays wrong. */
  async function openWhenReachable(report: (reason: string) => void): Promise<void> {
    let isReported = false
    await createOutageRetry(waitMs)(async () => {
      try {
        await writers.open()
      } catch (error) {
        const fault = explainPostgresError(error, address.name)
        if (!(error instanceof ConnectionLost && error.mayPass)) throw fault
        if (!isReported) report(fault instanceof Fault ? fault.detail : error.message)
        isReported = true
        throw error
      }
    })
  }

  async function open(): Promise<void> {
    await (onWait ? openWhenReachable(onWait) : writers.open())
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
