// The database interface on PostgreSQL, for several processes. How it keeps the guarantees of state.ts:
//
// 1. A transaction starts with an advisory lock of the whole database, so that writes of all processes are serialized
//    (behaviour/operations.md#postgresql-writes). A process that dies or is suspended loses the lock with its connection.
// 2. Reads use read-only connections. Each iteration has its own connection and snapshot.
// 3. The last statement of a transaction writes its number to `state_commits` under the name of this process. If the
//    connection is lost during a commit, the next transaction, which starts after the lost one has ended, sees whether it
//    was committed. If it was not, it is repeated.
// 4. `version` is based on this number (commit-watch.ts).
import { crc32 } from 'node:zlib'
import { systemRandom } from '#runtime/random.ts'
import { createGroupCommit } from '../group-commit.ts'
import { type InspectedStore, inspectStore, type MigrationEngine } from '../migrate.ts'
import type { Migration, Row, State, StateWriter, Value } from '../state.ts'
import { runGuarded } from '../transaction-guard.ts'
import { closedFault, createWriteQueue, iterationsMax, tooManyIterations } from '../write-queue.ts'
import { type PostgresAddress, parsePostgresUrl } from './address.ts'
import { type CommitWatch, commitsTable, openCommitWatch } from './commit-watch.ts'
import { dialect, toPostgresSql } from './dialect.ts'
import { inDoubt, renamePostgres } from './errors.ts'
import { createOutageRetry, outageWaitMs } from './outage.ts'
import { createSessionPool } from './pool.ts'
import { createReplicas } from './replicas.ts'
import { PostgresSession, sessionReader } from './session.ts'
import { createTransaction } from './transaction.ts'

const writesWaitingMax = 2000
const rowsPerFetch = 1000
/** Rows of processes without a write in this number of commits are deleted. */
const commitsKept = 100_000
/** Distinguishes our advisory locks from those of other programs. */
const lockClass = 0x74_65_74_72

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
  /** Invariant 3: the name of this process. */
  const writerName = systemRandom.uuid()
  const writeRetry = createOutageRetry(waitMs)
  const iterationRetry = createOutageRetry(waitMs)
  const readers = createSessionPool(address, 'read', connections, waitMs)
  const replicas = createReplicas(
    replicaUrls.map((url) => parsePostgresUrl(url, address.subschema)),
    connections,
  )
  const writeQueue = createWriteQueue(address.name, writesWaitingMax)
  const iterations = new Set<PostgresSession>()
  let beginSql = ''
  let channel = ''
  let writer: PostgresSession | undefined
  let watch: CommitWatch | undefined
  /** The number of our last commit. */
  let committed = 0
  let isClosed = false

  /** Invariant 3. An error of `work` is thrown after the rollback. If the connection was lost, `work` runs again. */
  async function transact<T>(work: (tx: StateWriter) => Promise<T>): Promise<T> {
    try {
      return await writeRetry(() =>
        attempt((session) => runGuarded((guard) => createTransaction(session, guard), work)),
      )
    } catch (error) {
      throw renamePostgres(error, address.name)
    }
  }

  /** Throws `ConnectionLost` if the connection was lost and nothing was committed. */
  async function attempt<T>(work: (session: PostgresSession) => Promise<T>): Promise<T> {
    const session = await writeSession()
    let result: { readonly of: T } | undefined
    try {
      await session.begin(beginSql)
      result = { of: await work(session) }
      await commit(session)
      return result.of
    } catch (error) {
      if (!session.lost) await session.script('rollback').catch(() => {})
      else if (!result) throw session.lost
      else if (await wasCommitted()) return result.of
      throw session.lost ?? error
    }
  }

  async function commit(session: PostgresSession): Promise<void> {
    const row = await session.script<{ number: number }>(
      `with done as (
         insert into state_commits (writer, number)
         select '${writerName}', coalesce(max(number), 0) + 1 from state_commits
         having pg_current_xact_id_if_assigned() is not null
         on conflict (writer) do update set number = excluded.number returning number
       ) select number, pg_notify('${channel.replaceAll("'", "''")}', number::text) from done`,
      'commit',
    )
    // A transaction without changes has no number.
    if (row) recordCommit(row.number)
  }

  function recordCommit(number: number): void {
    committed = number
    watch?.noteOwnCommit(number)
  }

  /** Checks in a new transaction, which starts after the one in doubt has ended. */
  async function wasCommitted(): Promise<boolean> {
    const sql = 'select number from state_commits where writer = ? and number > ?'
    try {
      const [row] = await createOutageRetry(waitMs)(async () => {
        const session = await writeSession()
        await session.begin(beginSql)
        const rows = await session.rows<{ number: number }>(sql, [writerName, committed])
        await session.script('rollback')
        return rows
      })
      if (row) recordCommit(row.number)
      return row !== undefined
    } catch (error) {
      throw inDoubt(error, address.name)
    }
  }

  async function writeSession(): Promise<PostgresSession> {
    if (isClosed) throw closedFault(address.name)
    if (!writer || writer.lost || writer.shouldReplace) {
      await writer?.close()
      writer = await PostgresSession.open(address, 'write')
    }
    return writer
  }

  function watching(): CommitWatch {
    if (isClosed || !watch) throw closedFault(address.name)
    return watch
  }

  /** Closes all connections, after the server was found dead. */
  function drop(): void {
    void writer?.close()
    for (const session of iterations) void session.close()
    readers.drop()
  }

  const reader = sessionReader((work) => readers.read(work))
  return {
    engine: 'postgres',
    ...reader,
    recent: replicas.reader(reader, () => watching().newestCommit()),
    async open() {
      const session = await writeSession()
      const current = await session.script<{ schema: string | null }>('select current_schema()::text as schema')
      const schema = current?.schema ?? 'public'
      // Several installations may share a database, each in a schema of its own.
      beginSql = `begin; select pg_advisory_xact_lock(${lockClass}, ${crc32(schema) | 0})`
      channel = `tetrad ${schema}`
      await session.begin(beginSql)
      await session.script(
        commitsTable,
        `delete from state_commits where number < (select max(number) from state_commits) - ${commitsKept}`,
        'commit',
      )
      watch = await openCommitWatch(address, channel, drop)
    },
    snapshot: (work, signal) =>
      readers.read(async (session) => {
        signal?.throwIfAborted()
        await session.begin('begin isolation level repeatable read')
        try {
          return await work(sessionReader((read) => read(session)))
        } finally {
          // The result does not wait for it: the session runs its statements in order.
          if (!session.lost) void session.script('rollback').catch(() => {})
        }
      }),
    async *each<R = Row>(sql: string, ...values: Value[]): AsyncGenerator<R> {
      if (isClosed) throw closedFault(address.name)
      if (iterations.size >= iterationsMax) throw tooManyIterations(address.name)
      let session: PostgresSession | undefined
      try {
        session = await iterationRetry(() => PostgresSession.open(address, 'walk'))
        iterations.add(session)
        await session.script('begin')
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
    write: (work, { isShort = false } = {}) => writeQueue.run(() => transact(work), isShort ? 'short' : 'long'),
    writeTogether: createGroupCommit(writeQueue, transact),
    version: () => watching().version(),
    async close() {
      await writeQueue.close()
      isClosed = true
      await watch?.close()
      await Promise.all([readers.close(), replicas.close(), writer?.close()])
      for (const session of iterations) await session.close()
    },
  }
}
