// State on PostgreSQL, for several processes. The port's promises are kept like this:
//
// 1. A transaction begins with one advisory lock of the whole store, so writes run one after another across all
//    processes, and each statement sees everything that was committed before (decision 0135). A process that dies or
//    stands still loses the lock with its connection.
// 2. Reads have connections of their own that cannot write; an iteration gets one for itself, and a snapshot.
// 3. The last statement of a transaction writes its number into `state_commits` under the name of this process. So when the
//    connection is lost during a commit, the next transaction, which can begin only after the lost one has ended, sees how
//    it ended. What was committed is reported as such; what was not is done again from its beginning.
// 4. The number is what `version` moves with (postgres-watch.ts).
// 5. Writes that go together are savepoints of one transaction, answered after its commit. A member that fails is rolled
//    back to its own beginning.
import { crc32 } from 'node:zlib'
import { Fault } from '#core/fault.ts'
import { systemRandom } from '#io/random.ts'
import { Fence } from '../fence.ts'
import { Gathering, type Member } from '../gathering.ts'
import { type Found, found, type MigrationTurn, upToDate } from '../migrate.ts'
import type { Migration, Row, State, StateReader, StateWriter, Value, WriteOptions } from '../state.ts'
import { closedFault, Turns } from '../turns.ts'
import { inDoubt, renamePostgres } from './postgres-faults.ts'
import { Patience, patienceMs } from './postgres-patience.ts'
import { type Place, placeOf } from './postgres-place.ts'
import { Sessions } from './postgres-pool.ts'
import { Replicas } from './postgres-replicas.ts'
import { Session } from './postgres-session.ts'
import { PostgresTransaction } from './postgres-transaction.ts'
import { commitsTable, Watch } from './postgres-watch.ts'
import { dialect, inPostgresWords } from './postgres-words.ts'

const writesWaitingMax = 2000
const walksMax = 16
const rowsPerFetch = 1000
/** Names of processes that have not written for so many commits are forgotten. */
const commitsKept = 100_000
/** So that no other program's advisory locks are ours. */
const lockClass = 0x74_65_74_72

export interface PostgresOptions {
  readonly connections: number
  readonly replicas?: readonly string[]
  /** Postgres-place.ts. */
  readonly subschema?: string
  /** How long an outage is waited for. */
  readonly waitMs?: number
}

export const openPostgres = async (...place: Parameters<typeof findPostgres>): Promise<State> =>
  upToDate(await findPostgres(...place))

export async function findPostgres(
  url: string,
  migrations: readonly Migration[],
  options: PostgresOptions,
): Promise<Found<State>> {
  const place = placeOf(url, options.subschema)
  const state = new PostgresState(place, options)
  try {
    await state.open()
    const steps = migrations.map(({ id, name, up }) => ({ id, name, statements: up(dialect).map(inPostgresWords) }))
    return await found(state, place.name, steps, (work) => state.write((tx) => work(migrationTurn(tx))))
  } catch (error) {
    await state.close()
    throw renamePostgres(error, place.name)
  }
}

const migrationTurn = (tx: StateWriter): MigrationTurn => ({
  applied: async () => {
    const rows = await tx.all<{ id: number; name: string }>('select id, name from migrations')
    return new Map(rows.map(({ id, name }) => [id, name]))
  },
  // Building an index over hundreds of millions of rows takes as long as it takes.
  run: async (sql) => {
    await tx.run('set local statement_timeout = 0')
    await tx.run(sql)
  },
  record: async (id, name) => void (await tx.run('insert into migrations (id, name) values (?, ?)', id, name)),
})

class PostgresState implements State {
  readonly engine = 'postgres'
  readonly #place: Place
  readonly #readers: Sessions
  readonly #replicas: Replicas
  readonly #turns: Turns
  readonly #gathering: Gathering
  readonly #walks = new Set<Session>()
  readonly #waitMs: number
  readonly #writePatience: Patience
  readonly #walkPatience: Patience
  /** Invariant 3: this process among those that write. */
  readonly #name = systemRandom.uuid()
  #begin = ''
  #channel = ''
  #writer: Session | undefined
  #watch: Watch | undefined
  /** The number of our last commit. */
  #committed = 0
  #closed = false

  constructor(place: Place, { connections, replicas = [], waitMs = patienceMs }: PostgresOptions) {
    this.#place = place
    this.#waitMs = waitMs
    this.#writePatience = new Patience(waitMs)
    this.#walkPatience = new Patience(waitMs)
    this.#readers = new Sessions(place, 'read', connections, waitMs)
    this.#replicas = new Replicas(
      replicas.map((url) => placeOf(url, place.subschema)),
      connections,
    )
    this.#turns = new Turns(place.name, writesWaitingMax)
    this.#gathering = new Gathering(this.#turns, (members) => this.#together(members))
  }

  async open(): Promise<void> {
    const session = await this.#writing()
    const at = await session.script<{ schema: string | null }>('select current_schema()::text as schema')
    const schema = at?.schema ?? 'public'
    // Several installations may share a database, each in a schema of its own.
    this.#begin = `begin; select pg_advisory_xact_lock(${lockClass}, ${crc32(schema) | 0})`
    this.#channel = `tetrad ${schema}`
    await session.script(this.#begin)
    await session.script(
      commitsTable,
      `delete from state_commits where number < (select max(number) from state_commits) - ${commitsKept}`,
      'commit',
    )
    this.#watch = await Watch.open(this.#place, this.#channel, () => this.#drop())
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
        if (!session.lost) await session.script('rollback')
      }
    })
  }

  get recent(): StateReader {
    return this.#replicas.reader(this, () => this.#watching.newest)
  }

  async *each<R = Row>(sql: string, ...values: Value[]): AsyncGenerator<R> {
    if (this.#closed) throw closedFault(this.#place.name)
    if (this.#walks.size >= walksMax) throw tooManyWalks(this.#place.name)
    let session: Session | undefined
    try {
      session = await this.#walkPatience.through(() => Session.open(this.#place, 'walk'))
      this.#walks.add(session)
      await session.script('begin')
      await session.run(`declare walk no scroll cursor for ${sql}`, values)
      for (;;) {
        const rows = await session.rows<R>(`fetch ${rowsPerFetch} from walk`)
        yield* rows
        if (rows.length < rowsPerFetch) return
      }
    } catch (error) {
      throw renamePostgres(error, this.#place.name)
    } finally {
      if (session) this.#walks.delete(session)
      await session?.close()
    }
  }

  write<T>(work: (tx: StateWriter) => Promise<T>, { together = false }: WriteOptions = {}): Promise<T> {
    if (together) return this.#gathering.join(work)
    return this.#turns.take(() => this.#transaction((session) => alone(session, work)))
  }

  async #together(members: readonly Member[]): Promise<void> {
    const answers = await this.#transaction(async (session) => {
      const ready: (() => void)[] = []
      await session.script('savepoint member')
      for (const member of members) ready.push(await inSavepoint(session, member))
      return ready
    })
    for (const answer of answers) answer()
  }

  /** Invariant 3. What `work` throws is thrown, after the rollback, unless the connection was lost: then it runs again. */
  async #transaction<T>(work: (session: Session) => Promise<T>): Promise<T> {
    try {
      return await this.#writePatience.through(() => this.#attempt(work))
    } catch (error) {
      throw renamePostgres(error, this.#place.name)
    }
  }

  /** Throws `Lost` when the connection was lost and nothing was committed. */
  async #attempt<T>(work: (session: Session) => Promise<T>): Promise<T> {
    const session = await this.#writing()
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

  async #commit(session: Session): Promise<void> {
    const row = await session.script<{ number: number }>(
      `with done as (
         insert into state_commits (writer, number)
         select '${this.#name}', coalesce(max(number), 0) + 1 from state_commits
         having pg_current_xact_id_if_assigned() is not null
         on conflict (writer) do update set number = excluded.number returning number
       ) select number, pg_notify('${this.#channel.replaceAll("'", "''")}', number::text) from done`,
      'commit',
    )
    // A transaction that wrote nothing has no number.
    if (row) this.#know(row.number)
  }

  #know(number: number): void {
    this.#committed = number
    this.#watch?.own(number)
  }

  /** Asked in a transaction of its own, which begins when the one in doubt has ended. */
  async #wasCommitted(): Promise<boolean> {
    const sql = 'select number from state_commits where writer = ? and number > ?'
    try {
      const [row] = await new Patience(this.#waitMs).through(async () => {
        const session = await this.#writing()
        await session.script(this.#begin)
        const rows = await session.rows<{ number: number }>(sql, [this.#name, this.#committed])
        await session.script('rollback')
        return rows
      })
      if (row) this.#know(row.number)
      return row !== undefined
    } catch (error) {
      throw inDoubt(error, this.#place.name)
    }
  }

  async #writing(): Promise<Session> {
    if (this.#closed) throw closedFault(this.#place.name)
    if (!this.#writer || this.#writer.lost || this.#writer.worn) {
      await this.#writer?.close()
      this.#writer = await Session.open(this.#place, 'write')
    }
    return this.#writer
  }

  version(): number {
    return this.#watching.version
  }

  get #watching(): Watch {
    if (this.#closed || !this.#watch) throw closedFault(this.#place.name)
    return this.#watch
  }

  #drop(): void {
    void this.#writer?.close()
    for (const session of this.#walks) void session.close()
    this.#readers.drop()
  }

  async close(): Promise<void> {
    await this.#turns.close()
    this.#closed = true
    await this.#watch?.close()
    await Promise.all([this.#readers.close(), this.#replicas.close(), this.#writer?.close()])
    for (const session of this.#walks) await session.close()
  }
}

async function alone<T>(session: Session, work: (tx: StateWriter) => Promise<T>): Promise<T> {
  const fence = new Fence()
  try {
    const result = await work(new PostgresTransaction(session, fence))
    fence.end()
    return result
  } catch (error) {
    throw fence.doom(error)
  }
}

/** Invariant 5: how to answer the member once the rest is committed. It begins and leaves with a fresh savepoint. */
async function inSavepoint(session: Session, { work, resolve, reject }: Member): Promise<() => void> {
  try {
    const result = await alone(session, work)
    await session.script('release member; savepoint member')
    return () => resolve(result as never)
  } catch (error) {
    if (session.lost) throw session.lost
    await session.script('rollback to member')
    return () => reject(error)
  }
}

const tooManyWalks = (of: string): Fault =>
  new Fault('store.unavailable', {
    detail: `${walksMax} long reads of ${of} are under way, which is the limit`,
    retryAfterMs: 1000,
  })
