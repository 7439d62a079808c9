// Facts on DuckDB, the embedded engine. The port's promises are kept like this:
//
// 1. A transaction is `begin … commit` on the one writing connection; appended rows are part of it.
// 2. The file is opened on the main thread of one process only (decision 0052). DuckDB's own lock turns another process
//    away, but not another thread or a second opening in this process: those would each get a database of their own and
//    lose rows without an error, so they are turned away here.
// 3. An id list travels as one parameter: bits where the ids lie near each other, otherwise a text that DuckDB splits.
// 4. SQL can reach nothing but this file: no extensions, no other files, no network.
import { realpath } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { isMainThread } from 'node:worker_threads'
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api'
import { Fault } from '#core/fault.ts'
import type { Cell, Columns, FactRow, Facts, FactsMigration, FactsReader, FactsWriter, Lists, Slice } from '../facts.ts'
import { Fence } from '../fence.ts'
import { Line } from '../line.ts'
import { type Found, found, type MigrationTurn, upToDate } from '../migrate.ts'
import { sliceSql, type Tables, tableOf, tablesOf } from '../slices.ts'
import { Turns } from '../turns.ts'
import { appendColumns, type Bound, bind, rowsOf, shortListMax } from './duckdb-cells.ts'
import { renameDuckdb } from './duckdb-faults.ts'

const writesWaitingMax = 1000
const readsWaitingMax = 1000
/** Each running query holds one of Node's four worker threads; one must stay free for files, names and short questions aside. */
const readersCount = 2

/** Small row groups: a query for few validators then reads little (measured four times faster than the default). */
const attachOptions = 'row_group_size 16384'
const catalog = 'facts'
/** Up to this many ids DuckDB compares a list with each row group's bounds (decision 0120). */
const listFilterMax = String(shortListMax)

/** Files open in this process. Other threads have a copy of their own, which is why they are refused outright. */
const openFiles = new Set<string>()

export interface DuckdbOptions {
  /** Beyond this it writes to files beside its own, and reads again what it had read. */
  readonly memoryMiB?: number | undefined
}
/** An hour of a million validators is six million rows on their way (decision 0074). */
const memoryUsualMiB = 448

export const openDuckdb = async (...place: Parameters<typeof findDuckdb>): Promise<Facts> =>
  upToDate(await findDuckdb(...place))

export async function findDuckdb(
  file: string,
  migrations: readonly FactsMigration[],
  options: DuckdbOptions = {},
): Promise<Found<Facts>> {
  const realFile = await realFileOf(file)
  refuseSecondOwner(realFile)
  openFiles.add(realFile)
  let facts: DuckdbFacts | undefined
  try {
    facts = await connect(file, tablesOf(migrations), options, () => openFiles.delete(realFile))
    const steps = migrations.map(({ id, name, up }) => ({ id, name, statements: up }))
    return await found(facts, file, steps, (work) => (facts as DuckdbFacts).write((tx) => work(migrationTurn(tx))))
  } catch (error) {
    await facts?.close()
    openFiles.delete(realFile)
    throw renameDuckdb(error, file)
  }
}

/** The same for all paths that lead to one file through linked folders. */
async function realFileOf(file: string): Promise<string> {
  const folder = await realpath(dirname(file)).catch((error: Error) => {
    throw new Fault('store.unavailable', { detail: `the folder of ${file} cannot be used (${error.message})` })
  })
  return join(folder, basename(file))
}

function refuseSecondOwner(file: string): void {
  if (!isMainThread) {
    throw new Fault('store.unavailable', {
      detail: `${file} may be opened on the main thread only; a worker hands its columns to the main thread`,
    })
  }
  if (openFiles.has(file)) {
    throw new Fault('store.unavailable', { detail: `${file} is open in this process already; use that one` })
  }
}

async function connect(
  file: string,
  tables: Tables,
  { memoryMiB = memoryUsualMiB }: DuckdbOptions,
  released: () => void,
): Promise<DuckdbFacts> {
  const instance = await DuckDBInstance.create(':memory:', {
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
    dynamic_or_filter_threshold: listFilterMax,
    memory_limit: `${memoryMiB}MiB`,
    temp_directory: `${file}.tmp`,
  })
  const connections: DuckDBConnection[] = []
  try {
    const first = await instance.connect()
    connections.push(first)
    await first.run(`attach '${file.replaceAll("'", "''")}' as ${catalog} (${attachOptions})`)
    await first.run('set enable_external_access = false')
    await first.run('set lock_configuration = true')
    for (let count = 0; count < readersCount + 1; count += 1) connections.push(await instance.connect())
    for (const connection of connections) await connection.run(`use ${catalog}`)
    const [writer, aside, ...readers] = connections as [DuckDBConnection, DuckDBConnection, ...DuckDBConnection[]]
    return new DuckdbFacts(file, tables, { writer, aside, readers }, () => {
      for (const connection of connections) connection.closeSync()
      instance.closeSync()
      released()
    })
  } catch (error) {
    for (const connection of connections) connection.closeSync()
    instance.closeSync()
    throw error
  }
}

const migrationTurn = (tx: FactsWriter): MigrationTurn => ({
  applied: async () => (await tx.query<{ id: number }>('select id from migrations')).map(({ id }) => id),
  run: (sql) => tx.run(sql),
  record: (id, name) => tx.run('insert into migrations (id, name) values (?, ?)', [id, name]),
})

class DuckdbFacts implements Facts {
  readonly engine = 'duckdb'
  readonly #file: string
  readonly #tables: Tables
  readonly #writer: DuckDBConnection
  readonly #readers: Line<DuckDBConnection>
  readonly #aside: Line<DuckDBConnection>
  readonly #turns: Turns
  readonly #release: () => void
  #version = 0
  #closed = false

  constructor(
    file: string,
    tables: Tables,
    { writer, aside, readers }: { writer: DuckDBConnection; aside: DuckDBConnection; readers: DuckDBConnection[] },
    release: () => void,
  ) {
    this.#file = file
    this.#tables = tables
    this.#writer = writer
    this.#turns = new Turns(file, writesWaitingMax)
    this.#readers = new Line(file, readers, readsWaitingMax)
    this.#aside = new Line(file, [aside], readsWaitingMax)
    this.#release = release
  }

  query<R = FactRow>(sql: string, values?: readonly Cell[], lists?: Lists): Promise<R[]> {
    return this.#readOn<R>(this.#readers, undefined, sql, values, lists)
  }

  readonly aside: FactsReader = {
    engine: this.engine,
    query: (sql, values, lists) => this.#readOn(this.#aside, undefined, sql, values, lists),
  }

  #readOn<R>(
    line: Line<DuckDBConnection>,
    signal: AbortSignal | undefined,
    sql: string,
    values: readonly Cell[] = [],
    lists: Lists = {},
  ): Promise<R[]> {
    return line.take((connection) => this.#renamed(() => queryOn<R>(connection, bind(sql, values, lists))), signal)
  }

  write<T>(work: (tx: FactsWriter) => Promise<T>): Promise<T> {
    return this.#turns.take(async () => {
      await this.#renamed(() => this.#writer.run('begin'))
      const fence = new Fence()
      try {
        const result = await work(new DuckdbTransaction(this.#writer, fence, this.#file, this.#tables))
        fence.end()
        await this.#renamed(() => this.#writer.run('commit'))
        this.#version += 1
        return result
      } catch (error) {
        fence.doom(error)
        // Fails when DuckDB has given the transaction up itself; the first error is the one to tell.
        await this.#writer.run('rollback').catch(() => {})
        throw error
      }
    })
  }

  version(): number {
    return this.#version
  }

  async now(signal?: AbortSignal): Promise<FactsReader> {
    return {
      engine: this.engine,
      query: (sql, values, lists) => this.#readOn(this.#readers, signal, sql, values, lists),
    }
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    await Promise.all([this.#turns, this.#readers, this.#aside].map((line) => line.close()))
    this.#release()
  }

  #renamed<T>(run: () => Promise<T>): Promise<T> {
    return run().catch((error) => {
      throw renameDuckdb(error, this.#file)
    })
  }
}

class DuckdbTransaction implements FactsWriter {
  readonly engine = 'duckdb'
  readonly #connection: DuckDBConnection
  readonly #fence: Fence
  readonly #file: string
  readonly #tables: Tables

  constructor(connection: DuckDBConnection, fence: Fence, file: string, tables: Tables) {
    this.#connection = connection
    this.#fence = fence
    this.#file = file
    this.#tables = tables
  }

  query<R = FactRow>(sql: string, values: readonly Cell[] = [], lists: Lists = {}): Promise<R[]> {
    return this.#do((connection) => queryOn<R>(connection, bind(sql, values, lists)))
  }

  async run(sql: string, values: readonly Cell[] = []): Promise<void> {
    await this.#do((connection) => queryOn(connection, bind(sql, values, {})))
  }

  append(table: string, columns: Columns): Promise<void> {
    return this.#do((connection) => appendColumns(connection, catalog, table, columns))
  }

  remove(table: string, slice: Slice): Promise<void> {
    const { where, values } = sliceSql(tableOf(this.#tables, table), slice)
    return this.run(`delete from ${table} where ${where}`, values)
  }

  async #do<T>(work: (connection: DuckDBConnection) => Promise<T>): Promise<T> {
    this.#fence.enter()
    try {
      return await work(this.#connection)
    } catch (error) {
      throw this.#fence.doom(renameDuckdb(error, this.#file))
    }
  }
}

async function queryOn<R>(connection: DuckDBConnection, { sql, values, types }: Bound): Promise<R[]> {
  const result = await connection.run(sql, values, types)
  return rowsOf<R>(await result.getColumns(), result.columnNames())
}
