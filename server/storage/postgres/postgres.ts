// The database interface on PostgreSQL, for several processes. How it keeps the guarantees of state.ts:
//
// 1. Transactions take the lock that they name, and nothing else keeps those of several processes apart (writers.ts).
// 2. Reads use read-only connections (pool.ts). Each iteration has its own connection and snapshot (iterations.ts).
// 3. `version` is based on a table of all writers, which is polled (commit-watch.ts).
// 4. `recent` reads from replicas that have every commit that this process knows of (replicas.ts).
import { type InspectedStore, inspectStore, type MigrationEngine } from '../migrate.ts'
import type { Migration, Row, State, Value } from '../state.ts'
import { closedFault } from '../write-queue.ts'
import { type PostgresAddress, parsePostgresUrl } from './address.ts'
import { CommitWatch } from './commit-watch.ts'
import { dialect, toPostgresSql } from './dialect.ts'
import { renamePostgres } from './errors.ts'
import { Iterations } from './iterations.ts'
import { outageWaitMs } from './outage.ts'
import { createSessionPool, type SessionPool } from './pool.ts'
import { createReplicas } from './replicas.ts'
import { sessionReader } from './session.ts'
import { Writers } from './writers.ts'

export interface PostgresOptions {
  readonly connections: number
  readonly replicas?: readonly string[]
  /** See address.ts. */
  readonly subschema?: string
  /** How long to wait during an outage. */
  readonly waitMs?: number
}

export async function inspectPostgres(
  url: string,
  migrations: readonly Migration[],
  options: PostgresOptions,
): Promise<InspectedStore> {
  const address = parsePostgresUrl(url, options.subschema)
  const { open, ...state } = createPostgresState(address, options)
  try {
    await open()
    return await inspectStore(state, address.name, migrations, engine)
  } catch (error) {
    await state.close()
    throw renamePostgres(error, address.name)
  }
}

const engine: MigrationEngine = {
  dialect,
  toSql: toPostgresSql,
  // Building an index over hundreds of millions of rows may take hours.
  async run(tx, sql) {
    await tx.run('set local statement_timeout = 0')
    await tx.run(sql)
  },
}

/** Call `open` first. */
function createPostgresState(
  address: PostgresAddress,
  { connections, replicas: replicaUrls = [], waitMs = outageWaitMs }: PostgresOptions,
): State & { open(): Promise<void> } {
  const writers = new Writers(address, waitMs, (commit) => openWatch?.noteOwnCommit(commit))
  const readers = createSessionPool(address, 'read', connections, waitMs)
  const iterations = new Iterations(address, waitMs)
  const replicaAddresses = replicaUrls.map((url) => parsePostgresUrl(url, address.subschema))
  const replicas = createReplicas(replicaAddresses, connections)
  /** Undefined before `open` and after `close`. */
  let openWatch: CommitWatch | undefined

  function getWatch(): CommitWatch {
    if (!openWatch) throw closedFault(address.name)
    return openWatch
  }

  async function open(): Promise<void> {
    await writers.open()
    openWatch = await CommitWatch.open(address, {
      onDead: () => {
        writers.drop()
        iterations.drop()
        readers.drop()
      },
      // Until then, no replica is used. The next poll tries again.
      onNewTimeline: () => void (replicaUrls.length > 0 && writers.nameTimeline().catch(() => {})),
    })
  }

  async function close(): Promise<void> {
    await writers.close()
    const watch = openWatch
    openWatch = undefined
    await watch?.close()
    await Promise.all([readers.close(), replicas.close(), iterations.close()])
  }

  const primary = {
    ...sessionReader((work) => readers.read(work)),
    snapshot: readSnapshots(readers),
  }
  return {
    engine: 'postgres',
    ...primary,
    recent: replicas.reader(primary, () => getWatch().requiredPosition()),
    hasReplicas: replicaUrls.length > 0,
    each: <R = Row>(sql: string, ...values: Value[]) => iterations.each<R>(sql, values),
    write: (work, options) => writers.write(work, options),
    writeTogether: (write, item) => writers.writeTogether(write, item),
    version: (group) => getWatch().version(group),
    open,
    close,
  }
}

const readSnapshots =
  (readers: SessionPool): State['snapshot'] =>
  (work, signal) =>
    readers.read((session) => {
      signal?.throwIfAborted()
      return work(sessionReader((read) => read(session)))
    }, 'isolation level repeatable read')
