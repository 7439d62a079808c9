// One connection to PostgreSQL, with its prepared statements.
//
// 1. Statements run one at a time, in order.
// 2. A connection that failed is not used again: further statements throw `ConnectionLost`.
// 3. It keeps the process alive only while a statement is running.
// 4. Behind a pooler, such as PgBouncer, each transaction may have another connection of PostgreSQL. Then nothing is kept in
//    the connection: settings are made in each transaction, and statements have no names
//    (behaviour/operations.md#connection-poolers).
// 5. A statement has a time limit. PostgreSQL gets one second more than the limit, and then one second to report it. If
//    nothing has arrived until then, the connection is destroyed and the statement throws `NoReply`: PostgreSQL may be
//    unreachable without an error, or a pooler waits for it.
import { Client, DatabaseError, type QueryResult } from 'pg'
import { nextEventLoopTurn, systemClock } from '#runtime/clock.ts'
import type { Row, StateReader, Value } from '../state.ts'
import type { PostgresAddress } from './address.ts'
import { BinaryQuery, takeBinaryRows } from './binary-rows.ts'
import { bound, numberPlaceholders, parserOf } from './dialect.ts'
import {
  ConnectionLost,
  endsConnection,
  isReadOnly,
  isRefusal,
  messageOfSqlState,
  NoReply,
  UnsuitableHost,
  UnusableServer,
} from './errors.ts'

/** Then the connection is replaced, because prepared statements use memory of the server as long as it is open. */
const statementsMax = 500
const connectMs = 3000
const keepAliveMs = 10_000
const goodbyeMs = 1000
/** Limit of the statements with which a connection begins (5). Behind a pooler, the first one may wait for PostgreSQL. */
const firstStatementsMs = 5000
const lockMs = 15_000
/** How much later than its limit a statement ends here, so that PostgreSQL can report it (5). */
const reportMs = 2000

export type Purpose = 'read' | 'write' | 'walk' | 'replica'

/** What follows `begin`. */
export type TransactionMode = '' | 'isolation level repeatable read'

/** Rule 5: limits of statements without one of their own. */
const statementMsFor: Readonly<Record<Purpose, number>> = {
  read: 30_000,
  replica: 30_000,
  write: 600_000,
  // An iteration over many rows may be slow and blocks no one else.
  walk: 0,
}

/** Settings of each transaction; times in milliseconds. */
const settingsFor: Readonly<Record<Purpose, Readonly<Record<string, string | number>>>> = {
  read: { transaction_read_only: 'on' },
  replica: { transaction_read_only: 'on' },
  walk: { transaction_read_only: 'on', idle_in_transaction_session_timeout: 600_000 },
  write: {
    // A write must see what others wrote while it waited for a lock, whatever the default of the database.
    transaction_isolation: 'read committed',
    // A suspended process must not block the writes of other processes.
    idle_in_transaction_session_timeout: 10_000,
  },
}

/** Acknowledged writes must be durable (storage/state.ts, rule 1), also if the database is configured otherwise. */
const setSynchronous = (isLocal: boolean): string =>
  `select set_config('synchronous_commit', 'on', ${isLocal}) where current_setting('synchronous_commit') = 'off'`

/** What the types of the driver do not declare. */
interface Referenceable {
  /** The process of PostgreSQL, or what a pooler reports instead. */
  readonly processID: number | null
  ref(): void
  unref(): void
}

interface NamedStatement {
  readonly text: string
  /** Set from its second use on. */
  name?: string
}

export class PostgresSession {
  readonly #client: Client & Referenceable
  readonly #purpose: Purpose
  readonly #schemaSuffix: string | undefined
  /** Rule 5; 0: none. */
  readonly #statementMs: number
  #isConnected = false
  #isLong = false
  readonly #statements = new Map<string, NamedStatement>()
  #namedCount = 0
  #isPooled = false
  /** Rule 4: the first statements of each transaction. */
  #localSettings: readonly string[] = []
  #last: Promise<unknown> = Promise.resolve()
  #lost: ConnectionLost | undefined
  #onLost: () => void = () => {}

  /** Connects to the first suitable host. Throws `ConnectionLost` with the reasons of all hosts if there is none. */
  static async open(
    { name, addresses, schemaSuffix }: PostgresAddress,
    purpose: Purpose,
    statementMs = statementMsFor[purpose],
  ): Promise<PostgresSession> {
    const failures: unknown[] = []
    for (const address of [...addresses]) {
      const session = new PostgresSession(address, purpose, schemaSuffix, statementMs)
      try {
        await session.#connect()
        addresses.splice(0, addresses.length, address, ...addresses.filter((other) => other !== address))
        return session
      } catch (error) {
        await session.close()
        failures.push(error)
      }
    }
    throw new ConnectionLost(`${name}: ${failures.map(reasonOf).join('; ')}`, failures, failures.every(isRefusal))
  }

  private constructor(address: string, purpose: Purpose, schemaSuffix: string | undefined, statementMs: number) {
    this.#purpose = purpose
    this.#statementMs = statementMs
    this.#schemaSuffix = schemaSuffix
    const client = new Client({
      connectionString: address,
      connectionTimeoutMillis: connectMs,
      keepAlive: true,
      keepAliveInitialDelayMillis: keepAliveMs,
      application_name: 'tetrad',
      types: { getTypeParser: parserOf as never },
    })
    this.#client = client as Client & Referenceable
    takeBinaryRows(client)
    this.#client.on('error', (error) => this.#lose(error))
    this.#client.on('end', () => this.#lose(new Error('the connection was closed')))
  }

  async #connect(): Promise<void> {
    const purpose = this.#purpose
    await this.#client.connect()
    this.#client.unref()
    const row = await this.script<{ standby: number; encoding: string; pid: number }>(
      `select pg_is_in_recovery()::int as standby, current_setting('server_encoding') as encoding, pg_backend_pid() as pid`,
    )
    this.#isPooled = row?.pid !== this.#client.processID
    await this.#applySettings()
    if (row?.standby === 1 && purpose !== 'replica')
      throw new UnsuitableHost('is a standby, which does not accept writes; configure the primary')
    if (this.#schemaSuffix !== undefined) await this.#enterSchema(this.#schemaSuffix)
    if (row?.encoding !== 'UTF8')
      throw new UnusableServer(
        `has the encoding ${row?.encoding} in this database, but must have UTF8; use another one: create database tetrad encoding 'UTF8' template template0`,
      )
    this.#isConnected = true
  }

  get isPooled(): boolean {
    return this.#isPooled
  }

  async #applySettings(): Promise<void> {
    const statementTimeout = this.#statementMs === 0 ? 0 : this.#statementMs + 1000
    const settings = Object.entries({
      ...settingsFor[this.#purpose],
      ...(this.#purpose === 'write' && { lock_timeout: Math.min(lockMs, this.#statementMs) }),
      statement_timeout: statementTimeout,
    })
    if (this.#isPooled) {
      this.#localSettings = [...settings.map(([name, value]) => `set local ${name} = '${value}'`), setSynchronous(true)]
      return
    }
    const ofSession = settings.map(
      ([name, value]) => `set ${name.replace(/^transaction_/, 'default_transaction_')} = '${value}'`,
    )
    await this.script(...ofSession, setSynchronous(false))
  }

  /** Begins a transaction and runs statements in it, in one round trip. Returns what `script` returns. */
  begin<R = Row>(mode: TransactionMode, ...statements: readonly string[]): Promise<R | undefined> {
    this.#isLong = false
    return this.script<R>(`begin ${mode}`, ...this.#localSettings, ...statements)
  }

  /** The statements of this transaction have no limit (5). */
  async allowLongStatements(): Promise<void> {
    await this.script('set local statement_timeout = 0')
    this.#isLong = true
  }

  async #enterSchema(name: string): Promise<void> {
    const row = await this.script<{ schema: string }>(`select coalesce(current_schema(), 'public')::text as schema`)
    const state = row?.schema ?? 'public'
    const sub = `${state}_${name}`
    if (this.#purpose === 'write') await this.#createSchema(sub)
    const path = `search_path = ${this.#client.escapeIdentifier(sub)}, ${this.#client.escapeIdentifier(state)}`
    if (this.#isPooled) this.#localSettings = [...this.#localSettings, `set local ${path}`]
    else await this.script(`set ${path}`)
  }

  /** A user without permission to create schemas can use an existing one. */
  async #createSchema(name: string): Promise<void> {
    const exists = `select 1 as one from pg_namespace where nspname = ${this.#client.escapeLiteral(name)}`
    if (await this.script(exists)) return
    try {
      await this.script(`create schema ${this.#client.escapeIdentifier(name)}`)
    } catch (error) {
      // Another process may have created it; "if not exists" does not wait for that.
      if (await this.script(exists)) return
      if ((error as DatabaseError).code !== '42501') throw error
      const statement = `create schema ${this.#client.escapeIdentifier(name)} authorization ${this.#client.escapeIdentifier(this.#client.user ?? '')}`
      throw new UnusableServer(
        `cannot be used: this user has no permission to create the schema ${name}; as owner of the database, run: ${statement}`,
      )
    }
  }

  /** Set once the connection is lost. */
  get lost(): ConnectionLost | undefined {
    return this.#lost
  }

  /** Whether it should be replaced by a new one. */
  get shouldReplace(): boolean {
    return !this.#isPooled && this.#statements.size >= statementsMax
  }

  /** Called once if the connection is lost without `close`. */
  set onLost(report: () => void) {
    this.#onLost = report
  }

  async rows<R = Row>(sql: string, values: readonly Value[] = []): Promise<R[]> {
    const query = (done: (rows: Row[]) => void, failed: (error: unknown) => void) =>
      new BinaryQuery({ ...this.#statement(sql), values: values.map(bound) }, done, failed)
    const rows = await this.#next(() => new Promise<Row[]>((done, failed) => this.#client.query(query(done, failed))))
    return rows as R[]
  }

  async run(sql: string, values: readonly Value[] = []): Promise<number> {
    const query = () => this.#client.query({ ...this.#statement(sql), values: values.map(bound) })
    return (await this.#next(query)).rowCount ?? 0
  }

  /** Statements without values, in one round trip. Returns the first row of the last statement with rows. */
  async script<R = Row>(...statements: readonly string[]): Promise<R | undefined> {
    return (await this.#scriptRows<R>(statements))[0]
  }

  /** The rows of one query without values, in one round trip. */
  readScript<R = Row>(sql: string): Promise<R[]> {
    return this.#scriptRows<R>(this.#isPooled ? ['begin', ...this.#localSettings, sql, 'rollback'] : [sql])
  }

  async #scriptRows<R>(statements: readonly string[]): Promise<R[]> {
    const results = await this.#next(() => this.#client.query(statements.join(';\n')))
    return (
      [results as unknown as QueryResult | QueryResult[]].flat().findLast(({ rows }) => rows.length > 0)?.rows ?? []
    )
  }

  async close(): Promise<void> {
    this.#onLost = () => {}
    this.#lost ??= new ConnectionLost('the connection was closed')
    await this.#end()
  }

  #statement(sql: string): NamedStatement {
    const known = this.#statements.get(sql)
    if (known) {
      if (!this.#isPooled) known.name ??= `s${++this.#namedCount}`
      return known
    }
    const fresh: NamedStatement = { text: numberPlaceholders(sql) }
    if (this.#statements.size < statementsMax) this.#statements.set(sql, fresh)
    return fresh
  }

  #next<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(async () => {
      if (this.#lost) throw this.#lost
      this.#client.ref()
      const stopTimer = this.#limitReply()
      try {
        return await work()
      } catch (error) {
        if (endsConnection(error) || (this.#purpose === 'write' && isReadOnly(error))) this.#lose(error)
        throw this.#lost ?? error
      } finally {
        stopTimer()
        if (!this.#lost) this.#client.unref()
      }
    })
    this.#last = result.catch(() => {})
    return result
  }

  /** Rule 5. */
  #limitReply(): () => void {
    const limitMs = this.#isConnected ? (this.#isLong ? 0 : this.#statementMs) : firstStatementsMs
    if (limitMs === 0) return () => {}
    const stopTimer = systemClock.every(limitMs + reportMs, () => {
      stopTimer()
      // A process that was busy first reads what has arrived.
      void nextEventLoopTurn().then(() => {
        if (!isOver) this.#lose(new NoReply(limitMs))
      })
    })
    let isOver = false
    return () => {
      isOver = true
      stopTimer()
    }
  }

  #lose(error: unknown): void {
    if (this.#lost) return
    this.#lost = error instanceof NoReply ? error : new ConnectionLost(reasonOf(error), [error])
    this.#onLost()
    // Statements that wait for a reply fail now instead of with the next keep-alive.
    void this.#end()
  }

  /** Does not wait longer than `goodbyeMs`, because the network may drop the message. */
  async #end(): Promise<void> {
    const sent = new AbortController()
    const ended = this.#client
      .end()
      .catch(() => {})
      .finally(() => sent.abort())
    await Promise.race([ended, systemClock.sleep(goodbyeMs, sent.signal)])
  }
}

/** Reads rows in sessions that `use` chooses. */
export const sessionReader = (use: <T>(work: (session: PostgresSession) => Promise<T>) => Promise<T>): StateReader => ({
  get: <R = Row>(sql: string, ...values: Value[]) => use(async (session) => (await session.rows<R>(sql, values))[0]),
  all: <R = Row>(sql: string, ...values: Value[]) => use((session) => session.rows<R>(sql, values)),
})

const reasonOf = (error: unknown): string => {
  const text = error instanceof DatabaseError ? messageOfSqlState(error.code) : undefined
  const { message, code } = error as Error & { code?: string }
  return [text, message || code].filter(Boolean).join(': ')
}
