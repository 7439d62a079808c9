// Upkeep of what ClickHouse holds. No answer changes by it (decision 0146).
//
// 1. Batches of one window that is over, or too many of one that is not, become one; equal rows of a table with sums are added up.
//    What is joined is what counts after the head that was asked for first: whatever another process commits since then makes the commit fail.
// 2. Rows that nobody sees, and nobody can still be reading, are removed: those of retired batches, of writes that failed here, and once after the
//    start of what an earlier process left. Whether a write failed is for the commits to say: its own may have landed when nobody could tell.

import { systemClock } from '#io/clock.ts'
import type { FactsTable } from '../facts.ts'
import type { Tables } from '../slices.ts'
import { rowsOf } from './clickhouse-cells.ts'
import type { Batch, Commits } from './clickhouse-commits.ts'
import type { Door } from './clickhouse-door.ts'
import type { Manner } from './clickhouse-manner.ts'
import { freshNumber, numberAt } from './clickhouse-number.ts'
import { rowsTable } from './clickhouse-tables.ts'

const openBatchesMax = 16
/** Of one call; the rest has its turn with the next one. */
const groupsMax = 256
/** How often rows that nobody sees are looked for, and since when: longer than any read or write takes. */
export const usualPace = { sweepEveryMs: 3_600_000, unseenMs: 1_800_000 }
export type Pace = typeof usualPace
const sweptMax = 4096
/** Validators that are added up at a time: the server's memory for it does not grow with the network. */
const spreadStep = 2 ** 17

export class Tidier {
  readonly #door: Door
  readonly #manner: Manner
  readonly #tables: Tables
  readonly #commits: Commits
  readonly #pace: Pace
  #left: Batch[] = []
  #sweptMs = Number.NEGATIVE_INFINITY
  #isFirst = true

  constructor(door: Door, manner: Manner, tables: Tables, commits: Commits, pace: Pace) {
    this.#door = door
    this.#manner = manner
    this.#tables = tables
    this.#commits = commits
    this.#pace = pace
  }

  /** Batches whose write has, as far as its writer knows, failed. */
  leave(batches: readonly Batch[]): void {
    this.#left = [...this.#left, ...batches].slice(-sweptMax)
  }

  async tidy(signal: AbortSignal): Promise<void> {
    await this.#gather(signal)
    const nowMs = systemClock.monotonicMs()
    if (signal.aborted || nowMs - this.#sweptMs < this.#pace.sweepEveryMs) return
    this.#sweptMs = nowMs
    await this.#sweep(this.#pace.unseenMs)
  }

  async #gather(signal: AbortSignal): Promise<void> {
    const all = await this.#commits.batches(`tbl in (${[...this.#tables.keys()].map((name) => `'${name}'`).join()})`)
    const newest = new Map<string, number>()
    for (const { table, key, win } of all) {
      const at = `${table} ${key}`
      newest.set(at, Math.max(newest.get(at) ?? win, win))
    }
    const groups = [...Map.groupBy(all, ({ table, key, win }) => `${win} ${table} ${key}`).values()].filter(
      ([first, ...rest]) =>
        first &&
        rest.length > 0 &&
        (first.win < (newest.get(`${first.table} ${first.key}`) ?? 0) || rest.length >= openBatchesMax),
    )
    for (const group of groups.slice(0, groupsMax)) {
      if (signal.aborted) return
      await this.#join(group[0] as Batch)
    }
  }

  /** The batches of this one's window. */
  async #join(first: Batch): Promise<void> {
    const table = this.#tables.get(first.table) as FactsTable
    const head = await this.#commits.head()
    const group = (await this.#commits.live(first.table, first.key)).filter(({ win }) => win === first.win)
    if (group.length < 2) return
    const joined = { ...first, batch: freshNumber() }
    try {
      for (const part of await this.#parts(table, group)) await this.#add(table, group, joined.batch, part)
      await this.#commits.put(head, freshNumber(), [joined], group)
    } catch (error) {
      this.leave([joined])
      throw error
    }
  }

  async #add(table: FactsTable, group: readonly Batch[], batch: bigint, part: string): Promise<void> {
    const { name, sums } = table
    const columns = Object.keys(table.columns)
    const keys = columns.filter((column) => !sums?.includes(column))
    const added = (sums ?? []).map((column) => `sum(${column})`)
    await this.#door.change({
      sql: `insert into ${name} (${[...keys, ...(sums ?? [])].join()}, batch)
            select ${[...keys, ...added].join()}, toUInt64(${batch}) from ${name}
            where batch in (${group.map((one) => one.batch).join()}) ${part} ${sums ? `group by ${keys.join()}` : ''}`,
      settings: { ...this.#manner.reading, ...this.#manner.writing },
    })
  }

  /** Conditions that together take every row once. */
  async #parts({ name, spread }: FactsTable, group: readonly Batch[]): Promise<string[]> {
    if (spread === undefined) return ['']
    const [row] = await this.#ask<{ last: number }>(
      `select max(${spread}) as last from ${name} where batch in (${group.map(({ batch }) => batch).join()})`,
    )
    const count = Math.floor((row?.last ?? 0) / spreadStep) + 1
    return Array.from({ length: count }, (_, at) => {
      const [from, until] = [at * spreadStep, (at + 1) * spreadStep]
      return `and ${spread} >= ${from} and ${spread} < ${until}`
    })
  }

  /** What has been out of sight for so long. */
  async #sweep(forMs: number): Promise<void> {
    // What one of two commits with the same number has retired may count again.
    await this.#commits.head()
    const before = numberAt(systemClock.now() - forMs)
    const retired = await this.#commits.retired(before, sweptMax)
    const left = await this.#commits.unnamed(this.#left.filter(({ batch }) => batch < before))
    for (const table of this.#tables.values()) {
      const own = [...retired, ...left].filter((one) => one.table === table.name).map(({ batch }) => String(batch))
      const gone = [...own, ...(this.#isFirst ? await this.#orphans(table, before) : [])]
      if (gone.length > 0) await this.#delete(table, gone)
    }
    this.#isFirst = false
    this.#left = this.#left.filter(({ batch }) => batch >= before)
    if (retired.length > 0 && (await this.#commits.batches(`tbl != ''`)).length > 0) {
      const gone = retired.map(({ batch }) => batch)
      await this.#commits.renew(await this.#commits.head(), freshNumber(), gone)
    }
  }

  /** Nobody but this can tell them: the process that wrote them is gone. What any commit has ever named is left to the others. */
  async #orphans(table: FactsTable, before: bigint): Promise<string[]> {
    const rows = await this.#ask<{ number: string }>(
      `select distinct toString(batch) as number from ${table.name}
       where batch < ${before} and batch global not in (select batch from commits where tbl = '${table.name}') limit ${sweptMax}`,
    )
    return rows.map(({ number }) => number)
  }

  #delete(table: FactsTable, batches: readonly string[]): Promise<void> {
    const { layout } = this.#manner
    // Of a table that every node has, any of them tells the others.
    const on = layout.cluster === undefined || table.spread === undefined ? '' : ` on cluster ${layout.cluster}`
    return this.#door.change({
      sql: `alter table ${layout.database}.${rowsTable(table, layout)}${on} delete where batch in (${batches.join()})`,
      // A node that is down does it when it is back; nobody sees these rows meanwhile.
      settings: { distributed_ddl_task_timeout: 0 },
    })
  }

  async #ask<R>(sql: string): Promise<R[]> {
    const ask = { sql: `${sql} format TabSeparatedWithNamesAndTypes`, settings: this.#manner.reading }
    return rowsOf<R>(await this.#door.read(ask))
  }
}
