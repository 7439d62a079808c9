// Facts on ClickHouse, the shared engine: any number of processes, one server or a cluster. The port's promises are kept like this:
//
// 1. A write sends its rows under batch numbers of its own and then one commit, which says what counts (clickhouse-commits.ts). Whatever
//    happens before that leaves rows that nobody sees; they are swept later.
// 2. A batch is the rows of one append in one window of one key, so that slices are removed by retiring batches. Where a range cuts a
//    window, the rows that stay go into a batch of their own.
// 3. A batch number is used once. When an insert fails, so does its write; nobody knows which rows of it are there.
// 4. A read asks for the newest commit and then one node once which batches count after it, so all shards answer about the same moment. On a cluster a replica that lacks what others
//    have confirmed answers with an error instead of less, and another one is asked.
import { strict as assert } from 'node:assert'
import { Fault } from '#core/fault.ts'
import { systemClock } from '#io/clock.ts'
import type { Cell, FactRow, Facts, FactsMigration, FactsMoment, FactsReader, FactsWriter, Lists } from '../facts.ts'
import { Fence } from '../fence.ts'
import { type Found, found, type MigrationTurn, migrationsTable, upToDate } from '../migrate.ts'
import { type Tables, tableOf, tablesOf } from '../slices.ts'
import { closedFault, Turns } from '../turns.ts'
import { literal } from './clickhouse-cells.ts'
import { Commits, liveSql } from './clickhouse-commits.ts'
import { type Ask, Door } from './clickhouse-door.ts'
import { renameClickhouse } from './clickhouse-faults.ts'
import { type Manner, mannerOf } from './clickhouse-manner.ts'
import { type Place, placeOf } from './clickhouse-place.ts'
import { createOwn, createSql } from './clickhouse-tables.ts'
import { type Pace, Tidier, usualPace } from './clickhouse-tidy.ts'
import { ask, ClickhouseTransaction } from './clickhouse-transaction.ts'
import { bind } from './clickhouse-words.ts'

const writesWaitingMax = 1000
/** Stands for the number of the commit that a read speaks of, until that is known. */
const commitMark = '{commit}'
const readsWaitingMax = 1000
/** Rows without a commit are swept when they are older than this and some more. */
const writeMsMax = 1_200_000
/** A table may have to be made on several machines. */
const makingMs = 180

export interface ClickhouseOptions extends Pace {
  /** How long a question waits for a host that can answer it. */
  readonly patienceMs: number
  /** How long a write waits for a second replica to have it. */
  readonly quorumMs: number
}
export const usualOptions: ClickhouseOptions = { ...usualPace, patienceMs: 10_000, quorumMs: 15_000 }

export const openClickhouse = async (...place: Parameters<typeof findClickhouse>): Promise<Facts> =>
  upToDate(await findClickhouse(...place))

export async function findClickhouse(
  url: string,
  migrations: readonly FactsMigration[],
  { patienceMs, quorumMs, ...pace }: ClickhouseOptions = usualOptions,
): Promise<Found<Facts>> {
  const place = placeOf(url)
  const doors = [new Door(place, patienceMs), new Door(place, patienceMs)] as const
  const renamed = (error: unknown) => {
    throw renameClickhouse(error, place.name)
  }
  try {
    const manner = await mannerOf(doors[0], place, quorumMs)
    const steps = migrations.map(({ id, name, tables = [] }) => {
      return { id, name, statements: tables.flatMap((table) => createSql(table, manner.layout)) }
    })
    const facts = new ClickhouseFacts(place, doors, manner, tablesOf(migrations), pace)
    return await found(facts, place.name, steps, (work) => work(migrationTurn(doors[0], manner)).catch(renamed))
  } catch (error) {
    await Promise.all(doors.map((door) => door.close()))
    return renamed(error)
  }
}

/** Making a table that is there already changes nothing, so a migration that was interrupted is simply done again. */
const migrationTurn = (door: Door, { layout, reading, writing }: Manner): MigrationTurn => {
  const make = (sql: string) => door.change({ sql, settings: { distributed_ddl_task_timeout: makingMs } })
  return {
    applied: async () =>
      (await door.read({ sql: 'select distinct id from migrations', settings: reading })).match(/\d+/g)?.map(Number) ??
      [],
    async run(sql) {
      if (sql !== migrationsTable) return make(sql)
      const found = await door.read({
        sql: `select count() from system.tables where database = '${layout.database}' and name in ('commits', 'migrations')`,
      })
      if (Number(found) < 2) for (const own of createOwn(layout)) await make(own)
    },
    record: (id, name) =>
      door.change({ sql: `insert into migrations (id, name) values (${id}, ${literal(name)})`, settings: writing }),
  }
}

class ClickhouseFacts implements Facts {
  readonly engine = 'clickhouse'
  readonly #of: string
  readonly #door: Door
  readonly #manner: Manner
  readonly #tables: Tables
  readonly #commits: Commits
  readonly #asideDoor: Door
  readonly #asideCommits: Commits
  readonly #tidier: Tidier
  readonly #turns: Turns
  readonly #reads = new Set<Promise<unknown>>()
  #closed = false

  constructor({ name }: Place, [door, aside]: readonly [Door, Door], manner: Manner, tables: Tables, pace: Pace) {
    this.#of = name
    this.#door = door
    this.#manner = manner
    this.#tables = tables
    this.#turns = new Turns(name, writesWaitingMax)
    this.#commits = new Commits(door, name, manner)
    this.#asideDoor = aside
    this.#asideCommits = new Commits(aside, name, manner)
    this.#tidier = new Tidier(door, manner, tables, this.#commits, pace)
  }

  query<R = FactRow>(sql: string, values: readonly Cell[] = [], lists: Lists = {}): Promise<R[]> {
    return this.#reading(() => this.#askNow<R>(this.#door, this.#commits, this.#bound(sql, values, lists)))
  }

  /** Over connections of their own, and whatever waits. */
  readonly aside: FactsReader = {
    engine: this.engine,
    query: <R>(sql: string, values: readonly Cell[] = [], lists: Lists = {}) =>
      this.#renamed(() => this.#askNow<R>(this.#asideDoor, this.#asideCommits, this.#bound(sql, values, lists))),
  }

  async now(signal?: AbortSignal): Promise<FactsMoment> {
    signal?.throwIfAborted()
    const seq = await this.#reading(() => this.#commits.newest())
    return {
      engine: this.engine,
      query: <R>(sql: string, values: readonly Cell[] = [], lists: Lists = {}) =>
        this.#reading(() => this.#ask<R>(this.#door, { ...this.#bound(sql, values, lists), signal }, seq)),
      partsFrom: async (name, key) => {
        const { window } = tableOf(this.#tables, name)
        const first = await this.#reading(() => this.#commits.firstInParts(name, key, seq))
        return first * (window?.width ?? 1)
      },
    }
  }

  async #reading<T>(read: () => Promise<T>): Promise<T> {
    if (this.#closed) throw closedFault(this.#of)
    if (this.#reads.size >= readsWaitingMax) {
      throw new Fault('store.unavailable', {
        detail: `${this.#reads.size} reads of ${this.#of} are waiting, which is the limit`,
      })
    }
    const reading = this.#renamed(read)
    this.#reads.add(reading)
    return reading.finally(() => this.#reads.delete(reading))
  }

  #bound(sql: string, values: readonly Cell[], lists: Lists): Ask {
    return bind(sql, values, lists, this.#tables, (table) => `batch global in (${liveSql(table, commitMark)})`)
  }

  /** A question that needs no table is answered while there is none. */
  async #askNow<R>(door: Door, commits: Commits, bound: Ask): Promise<R[]> {
    return this.#ask<R>(door, bound, bound.sql.includes(commitMark) ? await commits.newest() : 0)
  }

  #ask<R>(door: Door, bound: Ask, seq: number): Promise<R[]> {
    return ask<R>(door, this.#manner, { ...bound, sql: bound.sql.replaceAll(commitMark, String(seq)) })
  }

  write<T>(work: (tx: FactsWriter) => Promise<T>): Promise<T> {
    return this.#turns.take(() =>
      this.#renamed(async () => {
        const startMs = systemClock.monotonicMs()
        const fence = new Fence()
        const head = await this.#commits.head()
        const tx = new ClickhouseTransaction(this.#door, this.#manner, this.#tables, this.#commits, head, fence)
        try {
          const result = await work(tx)
          fence.end()
          assert(
            systemClock.monotonicMs() - startMs < writeMsMax,
            'a write took too long to be safe; write less at once',
          )
          await tx.commit()
          return result
        } catch (error) {
          fence.doom(error)
          this.#tidier.leave(tx.added)
          throw error
        }
      }),
    )
  }

  version(): undefined {
    return undefined
  }

  tidy(signal: AbortSignal): Promise<void> {
    return this.#turns.take(() => this.#renamed(() => this.#tidier.tidy(signal)))
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    await this.#turns.close()
    await Promise.allSettled(this.#reads)
    await Promise.all([this.#door.close(), this.#asideDoor.close()])
  }

  #renamed<T>(run: () => Promise<T>): Promise<T> {
    return run().catch((error) => {
      throw renameClickhouse(error, this.#of)
    })
  }
}
