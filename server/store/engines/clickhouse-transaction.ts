// One write on its way: its rows are there already, under numbers that do not count yet (clickhouse.ts, 1 to 3).
import { strict as assert } from 'node:assert'
import type { Cell, Columns, FactRow, FactsTable, FactsWriter, Lists, Slice } from '../facts.ts'
import type { Fence } from '../fence.ts'
import { sliceSql, type Tables, tableOf } from '../slices.ts'
import { blockOf, checkColumns, rowsOf } from './clickhouse-cells.ts'
import { type Batch, type Commits, type Head, liveSql } from './clickhouse-commits.ts'
import type { Ask, Door } from './clickhouse-door.ts'
import type { Manner } from './clickhouse-manner.ts'
import { freshNumber } from './clickhouse-number.ts'
import { bind } from './clickhouse-words.ts'

const blockRows = 2 ** 18
const windowsMax = 4096

export async function ask<R>(door: Door, { reading }: Manner, { sql, ...rest }: Ask): Promise<R[]> {
  const text = await door.read({ ...rest, sql: `${sql} format TabSeparatedWithNamesAndTypes`, settings: reading })
  return rowsOf<R>(text)
}

export class ClickhouseTransaction implements FactsWriter {
  readonly engine = 'clickhouse'
  readonly #door: Door
  readonly #manner: Manner
  readonly #tables: Tables
  readonly #commits: Commits
  readonly #head: Head
  readonly #fence: Fence
  readonly #added: Batch[] = []
  readonly #retired = new Map<bigint, Batch>()

  constructor(door: Door, manner: Manner, tables: Tables, commits: Commits, head: Head, fence: Fence) {
    this.#door = door
    this.#manner = manner
    this.#tables = tables
    this.#commits = commits
    this.#head = head
    this.#fence = fence
  }

  get added(): readonly Batch[] {
    return this.#added
  }

  query<R = FactRow>(sql: string, values: readonly Cell[] = [], lists: Lists = {}): Promise<R[]> {
    return this.#do(() =>
      ask<R>(
        this.#door,
        this.#manner,
        bind(sql, values, lists, this.#tables, (table) => this.#shown(table)),
      ),
    )
  }

  async run(): Promise<void> {
    assert.fail('ClickHouse has no transactions to run free SQL in; append and remove')
  }

  append(name: string, columns: Columns): Promise<void> {
    return this.#do(async () => {
      const table = tableOf(this.#tables, name)
      const count = checkColumns(table, columns)
      if (count === 0) return
      const batches = this.#batchesFor(table, columns, count)
      const names = [...Object.keys(table.columns), 'batch'].join()
      for (let from = 0; from < count; from += blockRows) {
        const body = blockOf(table, columns, batches, from, Math.min(from + blockRows, count))
        await this.#door.change({
          sql: `insert into ${name} (${names}) format Native`,
          body,
          settings: this.#manner.writing,
        })
      }
    })
  }

  remove(name: string, slice: Slice): Promise<void> {
    return this.#do(async () => {
      const table = tableOf(this.#tables, name)
      const { where, values } = sliceSql(table, slice)
      const there = await this.#here(name, slice.key)
      const reached = (reach: 'part' | 'whole') => there.filter(({ win }) => reachOf(table, win, slice) === reach)
      const retired = reached('whole')
      const cut = await this.#holding(reached('part'), name, where, values)
      for (const batch of cut) await this.#copyRest(table, batch, where, values)
      for (const batch of [...retired, ...cut]) this.#retired.set(batch.batch, batch)
    })
  }

  /** Those of the batches that have such a row. */
  async #holding(batches: readonly Batch[], name: string, where: string, values: readonly Cell[]): Promise<Batch[]> {
    if (batches.length === 0) return []
    const numbers = batches.map(({ batch }) => batch).join()
    const rows = await this.query<{ number: string }>(
      `select distinct toString(batch) as number from ${name} where batch in (${numbers}) and ${where}`,
      values,
    )
    const found = new Set(rows.map(({ number }) => number))
    return batches.filter(({ batch }) => found.has(String(batch)))
  }

  async commit(): Promise<void> {
    const isOwn = new Set(this.#added.map(({ batch }) => batch))
    const live = this.#added.filter(({ batch }) => !this.#retired.has(batch))
    const retired = [...this.#retired.values()].filter(({ batch }) => !isOwn.has(batch))
    if (live.length + retired.length > 0) await this.#commits.put(this.#head, freshNumber(), live, retired)
  }

  /** What counts for this write: also its own, and no longer what it has retired. */
  #shown(table: string): string {
    const numbers = (batches: Iterable<Batch>) =>
      Array.from(batches)
        .filter((one) => one.table === table)
        .map(({ batch }) => batch)
    const [added, retired] = [numbers(this.#added), numbers(this.#retired.values())]
    const own = added.length > 0 ? ` or batch in (${added.join()})` : ''
    return `(batch global in (${liveSql(table, this.#head.seq)})${own})${retired.length > 0 ? ` and batch not in (${retired.join()})` : ''}`
  }

  async #here(table: string, key: string): Promise<Batch[]> {
    const own = this.#added.filter((one) => one.table === table && one.key === key)
    return [...(await this.#commits.live(table, key)), ...own].filter(({ batch }) => !this.#retired.has(batch))
  }

  #batchesFor(table: FactsTable, columns: Columns, count: number): BigUint64Array {
    const keys = columns[table.key] as readonly string[]
    const key = keys[0] as string
    assert(
      keys.every((other) => other === key),
      `rows of several keys cannot be appended to ${table.name} at once`,
    )
    const values = table.window ? (columns[table.window.column] as ArrayLike<number>) : undefined
    const byWindow = new Map<number, bigint>()
    const batches = new BigUint64Array(count)
    for (let row = 0; row < count; row += 1) {
      const win = values ? Math.floor((values[row] as number) / (table.window?.width ?? 1)) : 0
      let batch = byWindow.get(win)
      if (batch === undefined) {
        assert(byWindow.size < windowsMax, `more than ${windowsMax} windows of ${table.name} in one append`)
        batch = freshNumber()
        byWindow.set(win, batch)
        this.#added.push({ table: table.name, key, win, batch })
      }
      batches[row] = batch
    }
    return batches
  }

  async #copyRest(
    table: FactsTable,
    { batch, key, win }: Batch,
    where: string,
    values: readonly Cell[],
  ): Promise<void> {
    const rest = freshNumber()
    this.#added.push({ table: table.name, key, win, batch: rest })
    const names = Object.keys(table.columns).join()
    const bound = bind(where, values, {}, new Map(), () => '')
    await this.#door.change({
      sql: `insert into ${table.name} (${names}, batch)
            select ${names}, toUInt64(${rest}) from ${table.name} where batch = ${batch} and not (${bound.sql})`,
      settings: { ...this.#manner.reading, ...this.#manner.writing },
    })
  }

  async #do<T>(work: () => Promise<T>): Promise<T> {
    this.#fence.enter()
    try {
      return await work()
    } catch (error) {
      throw this.#fence.doom(error)
    }
  }
}

/** How much of a window the slice takes. */
function reachOf({ window }: FactsTable, win: number, { from, until }: Slice): 'none' | 'part' | 'whole' {
  const width = window?.width ?? 1
  const [first, end] = [win * width, (win + 1) * width]
  if ((from ?? first) >= end || (until ?? end) <= first) return 'none'
  return (from ?? first) <= first && (until ?? end) >= end ? 'whole' : 'part'
}
