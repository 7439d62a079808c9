// The database interface on PostgreSQL, for several processes. How it keeps the guarantees of state.ts:
//
// 1. A transaction starts with an advisory lock of the whole database, so that writes of all processes are serialized
//    (behaviour/operations.md#postgresql-writes). A process that dies or is suspended loses the lock with its connection.
// 2. Reads use read-only connections. Each iteration has its own connection and snapshot.
// 3. The last statement of a transaction writes its number to `state_commits` under the name of this process. If the
//    connection is lost during a commit, the next transaction, which starts after the lost one has ended, sees whether it
//    was committed. If it was not, it is repeated.
// 4. `version` is based on this number (commit-watch.ts).
// 5. Writes with `together` are savepoints of one transaction and are resolved after its commit. A member that fails is
//    rolled back to its savepoint.
import { crc32 } from 'node:zlib'
import { systemRandom } from '#runtime/random.ts'
import { createGroupCommit, type GroupCommit, type QueuedWrite } from '../group-commit.ts'
import { type InspectedStore, inspectStore, type MigrationEngine, migrateStore } from '../migrate.ts'
import type { Migration, Row, State, StateReader, StateWriter, Value, WriteOptions } from '../state.ts'
import { runGuarded } from '../transaction-guard.ts'
import { closedFault, iterationsMax, tooManyIterations, WriteQueue } from '../write-queue.ts'
import { type PostgresAddress, parsePostgresUrl } from './address.ts'
import { type CommitWatch, commitsTable, openCommitWatch } from './commit-watch.ts'
import { dialect, toPostgresSql } from './dialect.ts'
import { inDoubt, renamePostgres } from './errors.ts'
import { createOutageRetry, type OutageRetry, outageWaitMs } from './outage.ts'
import { createSessionPool, type SessionPool } from './pool.ts'
import { createReplicas } from './replicas.ts'
import { PostgresSession } from './session.ts'
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

export const openPostgres = async (...options: Parameters<typeof inspectPostgres>): Promise<State> =>
  migrateStore(await inspectPostgres(...options))

export async function inspectPostgres(
  url: string,
  migrations: readonly Migration[],
  options: PostgresOptions,
): Promise<InspectedStore> {
  const address = parsePostgresUrl(url, options.subschema)
  const state = new PostgresState(address, options)
  try {
    await state.open()
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

class PostgresState implements State {
  readonly engine = 'postgres'
  readonly #address: PostgresAddress
  readonly #readers: SessionPool
  readonly #replicas: ReturnType<typeof createReplicas>
  readonly #writeQueue: WriteQueue
  readonly #groupCommit: GroupCommit
  readonly #iterations = new Set<PostgresSession>()
  readonly #waitMs: number
  readonly #writeRetry: OutageRetry
  readonly #iterationRetry: OutageRetry
  /** Invariant 3: the name of this process. */
  readonly #name = systemRandom.uuid()
  #begin = ''
  #channel = ''
  #writer: PostgresSession | undefined
  #watch: CommitWatch | undefined
  /** The number of our last commit. */
  #committed = 0
  #closed = false

  constructor(address: PostgresAddress, { connections, replicas = [], waitMs = outageWaitMs }: PostgresOptions) {
    this.#address = address
    this.#waitMs = waitMs
    this.#writeRetry = createOutageRetry(waitMs)
    this.#iterationRetry = createOutageRetry(waitMs)
    this.#readers = createSessionPool(address, 'read', connections, waitMs)
    this.#replicas = createReplicas(
      replicas.map((url) => parsePostgresUrl(url, address.subschema)),
      connections,
    )
    this.#writeQueue = new WriteQueue(address.name, writesWaitingMax)
    this.#groupCommit = createGroupCommit(this.#writeQueue, (members) => this.#together(members))
  }

  async open(): Promise<void> {
    const session = await this.#writeSession()
    const current = await session.script<{ schema: string | null }>('select current_schema()::text as schema')
    const schema = current?.schema ?? 'public'
    // Several installations may share a database, each in a schema of its own.
    this.#begin = `begin; select pg_advisory_xact_lock(${lockClass}, ${crc32(schema) | 0})`
    this.#channel = `tetrad ${schema}`
    await session.script(this.#begin)
    await session.script(
      commitsTable,
      `delete from state_commits where number < (select max(number) from state_commits) - ${commitsKept}`,
      'commit',
    )
    this.#watch = await openCommitWatch(this.#address, this.#channel, () => this.#drop())
  }

  get<R = Row>(sql: string, ...values: Value[]): Promise<R | undefined> {
    return this.#readers.read(async (session) => (await session.rows<R>(sql, values))[0])
  }

  all<R = Row>(sql: string, ...values: Value[]): Promise<R[]> {
    return this.#readers.read((session) => session.rows<R>(sql, values))
  }

  snapshot<T>(work: (reader: StateReader) => Promise<T>, signal?: AbortSignal): Promise<T> {
    return this.#readers.read(async (session) => {
      signal?.throwIfAborted()
      await session.script('begin isolation level repeatable read')
      try {
        return await work({
          get: async <R>(sql: string, ...values: Value[]) => (await session.rows<R>(sql, values))[0],
          all: <R>(sql: string, ...values: Value[]) => session.rows<R>(sql, values),
        })
      } finally {
        // The result does not wait for it: the session runs its statements in order.
        if (!session.lost) void session.script('rollback').catch(() => {})
      }
    })
  }

  get recent(): StateReader {
    return this.#replicas.reader(this, () => this.#watching.newestCommit())
  }

  async *each<R = Row>(sql: string, ...values: Value[]): AsyncGenerator<R> {
    if (this.#closed) throw closedFault(this.#address.name)
    if (this.#iterations.size >= iterationsMax) throw tooManyIterations(this.#address.name)
    let session: PostgresSession | undefined
    try {
      session = await this.#iterationRetry(() => PostgresSession.open(this.#address, 'walk'))
      this.#iterations.add(session)
      await session.script('begin')
      await session.run(`declare walk no scroll cursor for ${sql}`, values)
      for (;;) {
        const rows = await session.rows<R>(`fetch ${rowsPerFetch} from walk`)
        yield* rows
        if (rows.length < rowsPerFetch) return
      }
    } catch (error) {
      throw renamePostgres(error, this.#address.name)
    } finally {
      if (session) this.#iterations.delete(session)
      await session?.close()
    }
  }

  write<T>(work: (tx: StateWriter) => Promise<T>, { together = false }: WriteOptions = {}): Promise<T> {
    if (together) return this.#groupCommit(work)
    return this.#writeQueue.run(() => this.#transaction((session) => runAlone(session, work)))
  }

  async #together(members: readonly QueuedWrite[]): Promise<void> {
    const callbacks = await this.#transaction(async (session) => {
      const ready: (() => void)[] = []
      await session.script('savepoint member')
      for (const member of members) ready.push(await inSavepoint(session, member))
      return ready
    })
    for (const callback of callbacks) callback()
  }

  /** Invariant 3. An error of `work` is thrown after the rollback. If the connection was lost, `work` runs again. */
  async #transaction<T>(work: (session: PostgresSession) => Promise<T>): Promise<T> {
    try {
      return await this.#writeRetry(() => this.#attempt(work))
    } catch (error) {
      throw renamePostgres(error, this.#address.name)
    }
  }

  /** Throws `ConnectionLost` if the connection was lost and nothing was committed. */
  async #attempt<T>(work: (session: PostgresSession) => Promise<T>): Promise<T> {
    const session = await this.#writeSession()
    let result: { readonly of: T } | undefined
    try {
      await session.script(this.#begin)
      result = { of: await work(session) }
      await this.#commit(session)
      return result.of
    } catch (error) {
      if (!session.lost) await session.script('rollback').catch(() => {})
      else if (!result) throw session.lost
      else if (await this.#wasCommitted()) return result.of
      throw session.lost ?? error
    }
  }

  async #commit(session: PostgresSession): Promise<void> {
    const row = await session.script<{ number: number }>(
      `with done as (
         insert into state_commits (writer, number)
         select '${this.#name}', coalesce(max(number), 0) + 1 from state_commits
         having pg_current_xact_id_if_assigned() is not null
         on conflict (writer) do update set number = excluded.number returning number
       ) select number, pg_notify('${this.#channel.replaceAll("'", "''")}', number::text) from done`,
      'commit',
    )
    // A transaction without changes has no number.
    if (row) this.#recordCommit(row.number)
  }

  #recordCommit(number: number): void {
    this.#committed = number
    this.#watch?.noteOwnCommit(number)
  }

  /** Checks in a new transaction, which starts after the one in doubt has ended. */
  async #wasCommitted(): Promise<boolean> {
    const sql = 'select number from state_commits where writer = ? and number > ?'
    try {
      const [row] = await createOutageRetry(this.#waitMs)(async () => {
        const session = await this.#writeSession()
        await session.script(this.#begin)
        const rows = await session.rows<{ number: number }>(sql, [this.#name, this.#committed])
        await session.script('rollback')
        return rows
      })
      if (row) this.#recordCommit(row.number)
      return row !== undefined
    } catch (error) {
      throw inDoubt(error, this.#address.name)
    }
  }

  async #writeSession(): Promise<PostgresSession> {
    if (this.#closed) throw closedFault(this.#address.name)
    if (!this.#writer || this.#writer.lost || this.#writer.shouldReplace) {
      await this.#writer?.close()
      this.#writer = await PostgresSession.open(this.#address, 'write')
    }
    return this.#writer
  }

  version(): number {
    return this.#watching.version()
  }

  get #watching(): CommitWatch {
    if (this.#closed || !this.#watch) throw closedFault(this.#address.name)
    return this.#watch
  }

  #drop(): void {
    void this.#writer?.close()
    for (const session of this.#iterations) void session.close()
    this.#readers.drop()
  }

  async close(): Promise<void> {
    await this.#writeQueue.close()
    this.#closed = true
    await this.#watch?.close()
    await Promise.all([this.#readers.close(), this.#replicas.close(), this.#writer?.close()])
    for (const session of this.#iterations) await session.close()
  }
}

const runAlone = <T>(session: PostgresSession, work: (tx: StateWriter) => Promise<T>): Promise<T> =>
  runGuarded((guard) => createTransaction(session, guard), work)

/** Invariant 5: returns the callback that settles the member after the commit. Starts and ends with a new savepoint. */
async function inSavepoint(session: PostgresSession, { work, resolve, reject }: QueuedWrite): Promise<() => void> {
  try {
    const result = await runAlone(session, work)
    await session.script('release member; savepoint member')
    return () => resolve(result as never)
  } catch (error) {
    if (session.lost) throw session.lost
    await session.script('rollback to member')
    return () => reject(error)
  }
}
