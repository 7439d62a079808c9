// The database interface on PostgreSQL, for several processes. How it keeps the guarantees of state.ts:
//
// 1. Transactions take the lock that they name, and nothing else keeps those of several processes apart (writers.ts).
// 2. Reads use read-only connections. Each iteration has its own connection and snapshot.
// 3. `version` is based on a table of all writers, which is polled (commit-watch.ts).
import { type InspectedStore, inspectStore, type MigrationEngine } from '../migrate.ts'
import type { Migration, Row, State, Value } from '../state.ts'
import { closedFault, iterationsMax, tooManyIterations } from '../write-queue.ts'
import { type PostgresAddress, parsePostgresUrl } from './address.ts'
import { type CommitWatch, openCommitWatch } from './commit-watch.ts'
import { dialect, toPostgresSql } from './dialect.ts'
import { renamePostgres } from './errors.ts'
import { createOutageRetry, outageWaitMs } from './outage.ts'
import { createSessionPool } from './pool.ts'
import { createReplicas } from './replicas.ts'
import { PostgresSession, sessionReader } from './session.ts'
import { createWriters } from './writers.ts'

const rowsPerFetch = 1000

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
  const writers = createWriters(address, waitMs, (commit) => watch?.noteOwnCommit(commit))
  const iterationRetry = createOutageRetry(waitMs)
  const readers = createSessionPool(address, 'read', connections, waitMs)
  const replicas = createReplicas(
    replicaUrls.map((url) => parsePostgresUrl(url, address.subschema)),
    connections,
  )
  const iterations = new Set<PostgresSession>()
  let watch: CommitWatch | undefined
  let isClosed = false

  function watching(): CommitWatch {
    if (isClosed || !watch) throw closedFault(address.name)
    return watch
  }

  /** Closes all connections, after the server was found dead. */
  function drop(): void {
    writers.drop()
    for (const session of iterations) void session.close()
    readers.drop()
  }

  const reader = sessionReader((work) => readers.read(work))
  const snapshot: State['snapshot'] = (work, signal) =>
    readers.read((session) => {
      signal?.throwIfAborted()
      return work(sessionReader((read) => read(session)))
    }, 'isolation level repeatable read')
  return {
    engine: 'postgres',
    ...reader,
    hasReplicas: replicaUrls.length > 0,
    recent: replicas.reader({ ...reader, snapshot }, () => watching().knownPosition()),
    async open() {
      await writers.open()
      watch = await openCommitWatch(address, {
        onDead: drop,
        // Until then, no replica is used. The next poll tries again.
        onNewTimeline: () => void (replicaUrls.length > 0 && writers.nameTimeline().catch(() => {})),
      })
    },
    snapshot,
    async *each<R = Row>(sql: string, ...values: Value[]): AsyncGenerator<R> {
      if (isClosed) throw closedFault(address.name)
      if (iterations.size >= iterationsMax) throw tooManyIterations(address.name)
      let session: PostgresSession | undefined
      try {
        session = await iterationRetry(() => PostgresSession.open(address, 'walk'))
        iterations.add(session)
        await session.begin('')
        await session.run(`declare walk no scroll cursor for ${sql}`, values)
        for (;;) {
          const rows = await session.rows<R>(`fetch ${rowsPerFetch} from walk`)
          yield* rows
          if (rows.length < rowsPerFetch) return
        }
      } catch (error) {
        throw renamePostgres(error, address.name)
      } finally {
        if (session) iterations.delete(session)
        await session?.close()
      }
    },
    write: writers.write,
    writeTogether: writers.writeTogether,
    version: (group) => watching().version(group),
    async close() {
      await writers.close()
      isClosed = true
      await watch?.close()
      await Promise.all([readers.close(), replicas.close()])
      for (const session of iterations) await session.close()
    },
  }
}
