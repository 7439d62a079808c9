// What counts. ClickHouse has no transactions over several tables, but one block into one table is there as a whole or not at all. So rows
// come first, each with the number of the batch that brought it, and one block into `commits` then says which batches count from now
// on and which no longer do (decision 0145).
//
// 1. A batch counts when some commit made it live and none retired it. Saying either twice changes nothing.
// 2. The numbers of commits (`seq`) follow each other. A commit is written only where its predecessor is the newest one, and looked up
//    afterwards: whether its answer was lost does not matter.
// 3. Two commits with one number: each writer that sees the other voids its own. If both remain, because one landed late or its writer died, the
//    next writer waits a moment and then voids all but the one with the highest id. A void commit has no effect at all: what it
//    made live does not count, what it retired does. As rows and coverage go together, what it brought is read again.
//    So every question leaves void commits out (`valid`, `countingAt`), and whoever acts on an answer asks for the head first, which
//    settles this.
// 4. Only the newest generation counts. One block brings a new one, with what still matters of the one before it, which stays for a while
//    for those who are still reading it. (A partition for each would be simpler to drop, but 18.16 then misses its last part for ever.)
// 5. A read speaks of one commit, which it asks for first. Left to itself, ClickHouse may take up a table's parts before it asks what counts,
//    and miss rows of a commit that came in between.
import { systemClock } from '#io/clock.ts'
import type { Cell } from '../facts.ts'
import { literal, rowsOf } from './clickhouse-cells.ts'
import type { Door } from './clickhouse-door.ts'
import { overtaken, Refused } from './clickhouse-faults.ts'

export interface Batch {
  readonly table: string
  readonly key: string
  readonly win: number
  readonly batch: bigint
}

export interface Head {
  readonly seq: number
  readonly gen: number
}

const newest = 'gen = (select max(gen) from commits)'
const voids = `(select batch from commits where ${newest} and tbl = '')`
const valid = `${newest} and id not in ${voids}`

/**
 * Batches of the table that count after commit `seq`; invariants 1, 3, 4 and 5. Asked once by the node that answers, and sent along to
 * the others.
 */
export const liveSql = (table: string, seq: number | string): string =>
  `select batch from commits where ${countingAt(seq)} and tbl = '${table}' group by batch having min(live) = 1`

const countingAt = (seq: number | string): string => {
  const own = `gen = (select max(gen) from commits where seq <= ${seq})`
  return `${own} and seq <= ${seq} and id not in (select batch from commits where ${own} and tbl = '')`
}

interface Recent extends Record<string, Cell> {
  readonly seq: number
  readonly last_gen: number
  readonly number: string
  readonly is_void: number
  readonly first_seq: number
}

/** How far back two commits of one number are looked for. */
const twinsAmong = 16
const twinLooks = 12
const twinWaitMs = 200
/** Rows of one block, so as many as ClickHouse never divides. */
const rowsMax = 2 ** 15

export class Commits {
  readonly #door: Door
  readonly #of: string
  readonly #reading: Readonly<Record<string, string | number>>
  readonly #writing: Readonly<Record<string, string | number>>

  constructor(
    door: Door,
    of: string,
    settings: Readonly<Record<'reading' | 'writing', Readonly<Record<string, string | number>>>>,
  ) {
    this.#door = door
    this.#of = of
    this.#reading = settings.reading
    this.#writing = settings.writing
  }

  /** Where the next commit goes. */
  async head(): Promise<Head> {
    for (let looks = 1; ; looks += 1) {
      const { head, losers } = await this.#look()
      if (losers.length === 0) return head
      // The one that came second is about to see it and to give way.
      if (looks < twinLooks) await systemClock.sleep(twinWaitMs)
      else for (const { id, seq } of losers) await this.#void(id, { ...head, seq })
    }
  }

  /** Invariant 5. */
  async newest(): Promise<number> {
    const [row] = await this.#ask<{ last: number }>('select max(seq) as last from commits')
    return row?.last ?? 0
  }

  /** After commit `seq`, the first window of the key that several batches bring rows to. */
  async firstInParts(table: string, key: string, seq: number): Promise<number> {
    const batches = `select win, batch from commits where ${countingAt(seq)} and tbl = ${literal(table)} and key = ${literal(key)}
                     group by win, batch having min(live) = 1`
    const [row] = await this.#ask<{ windows: number; first: number }>(
      `select count() as windows, min(win) as first from (select win from (${batches}) group by win having count() > 1)`,
    )
    return row && row.windows > 0 ? row.first : Number.POSITIVE_INFINITY
  }

  /** The newest commit, and those that share their number with one of a higher id (invariant 3). */
  async #look(): Promise<{ head: Head; losers: { readonly id: bigint; readonly seq: number }[] }> {
    const recent = await this.#ask<Recent>(
      `select seq, max(gen) as last_gen, toString(id) as number, id in ${voids} as is_void,
         (select min(seq) from commits where ${newest}) as first_seq from commits
       where ${newest} and seq + ${twinsAmong} > (select max(seq) from commits) and tbl != '' group by seq, id`,
    )
    const [seq, gen] = [Math.max(0, ...recent.map((one) => one.seq)), Math.max(1, ...recent.map((one) => one.last_gen))]
    // Two that begin a generation say the same.
    const counting = recent.filter((one) => one.is_void === 0 && !(gen > 1 && one.seq === one.first_seq))
    const losers = [...Map.groupBy(counting, (one) => one.seq)].flatMap(([at, own]) => {
      const ids = own.map(({ number }) => BigInt(number)).sort((a, b) => (a < b ? -1 : 1))
      return ids.slice(0, -1).map((id) => ({ id, seq: at }))
    })
    return { head: { seq, gen }, losers }
  }

  live(table: string, key: string): Promise<Batch[]> {
    return this.batches(`tbl = ${literal(table)} and key = ${literal(key)}`)
  }

  async batches(where: string): Promise<Batch[]> {
    const rows = await this.#ask<{ tbl: string; key: string; win: number; number: string }>(
      `select tbl, key, win, toString(batch) as number from commits where ${where} and ${valid}
       group by tbl, key, win, batch having min(live) = 1 order by tbl, key, win, batch`,
    )
    return rows.map(({ tbl, key, win, number }) => ({ table: tbl, key, win, batch: BigInt(number) }))
  }

  /** Retired by commits with ids below `before`, at most so many. */
  async retired(before: bigint, max: number): Promise<Pick<Batch, 'table' | 'batch'>[]> {
    const rows = await this.#ask<{ tbl: string; number: string }>(
      `select tbl, toString(batch) as number from commits
       where tbl != '' and ${valid} and live = 0 and id < ${before} order by batch limit ${max}`,
    )
    return rows.map(({ tbl, number }) => ({ table: tbl, batch: BigInt(number) }))
  }

  /** Those of the batches that no commit speaks of. */
  async unnamed(batches: readonly Batch[]): Promise<Batch[]> {
    if (batches.length === 0) return []
    const rows = await this.#ask<{ number: string }>(
      `select distinct toString(batch) as number from commits
       where tbl != '' and ${valid} and batch in (${batches.map(({ batch }) => batch).join()})`,
    )
    const named = new Set(rows.map(({ number }) => number))
    return batches.filter(({ batch }) => !named.has(String(batch)))
  }

  /** Invariant 2. `id` is a number like those of batches. */
  async put(head: Head, id: bigint, live: readonly Batch[], retired: readonly Batch[]): Promise<void> {
    const rows = [...live.map((one) => ({ ...one, is: 1 })), ...retired.map((one) => ({ ...one, is: 0 }))]
    if (rows.length > rowsMax) throw new Error(`${rows.length} slices are too many for one commit`)
    const lines = rows.map(({ table, key, win, batch, is }) => `${table}\t${tabbed(key)}\t${win}\t${batch}\t${is}\n`)
    const fresh = {
      name: 'fresh',
      structure: 'tbl String, key String, win Int64, batch UInt64, live UInt8',
      lines: lines.join(''),
    }
    const select = `select tbl, key, win, batch, live, toUInt64(${head.seq + 1}), toUInt64(${id}), toUInt32(${head.gen}) from fresh`
    await this.#settle(head, id, () => this.#insert(`${select} where ${isNewest(head)}`, [fresh]))
  }

  /** Invariant 4. `gone`: retired batches whose rows have been removed. Something must count. */
  async renew(head: Head, id: bigint, gone: readonly bigint[]): Promise<void> {
    const left = { name: 'gone', structure: 'batch UInt64', lines: gone.map((batch) => `${batch}\n`).join('') }
    const next = { ...head, gen: head.gen + 1 }
    await this.#settle(
      head,
      id,
      () =>
        this.#insert(
          `select tbl, key, win, batch, min(live), toUInt64(${head.seq + 1}), toUInt64(${id}), toUInt32(${next.gen})
         from commits where tbl != '' and ${valid} and batch not in (select batch from gone) and ${isNewest(head)}
         group by tbl, key, win, batch`,
          [left],
        ),
      true,
    )
    await this.#door.change({ sql: `alter table commits delete where gen < ${head.gen}` })
  }

  async #settle(head: Head, id: bigint, send: () => Promise<void>, isRenewal = false): Promise<void> {
    const failure = await send().then(
      () => undefined,
      (error: unknown) => ({ error }),
    )
    // What the server has looked at and refused did not happen, unless it says itself that it does not know.
    if (failure?.error instanceof Refused && !doubtful.includes(failure.error.code)) throw failure.error
    const ids = await this.#ask<{ number: string }>(
      `select distinct toString(id) as number from commits where seq = ${head.seq + 1} and tbl != '' and ${valid}`,
    )
    const isThere = ids.some((row) => row.number === String(id))
    if (isThere && (ids.length === 1 || isRenewal)) return
    if (isThere) await this.#void(id, { ...head, seq: head.seq + 1 })
    throw !isThere && failure ? failure.error : overtaken(this.#of)
  }

  /** Invariant 3. */
  #void(id: bigint, { seq, gen }: Head): Promise<void> {
    return this.#insert(
      `select '', '', toInt64(0), toUInt64(${id}), toUInt8(1), toUInt64(${seq}), toUInt64(${id}), toUInt32(${gen})`,
    )
  }

  #insert(select: string, externals: Parameters<Door['change']>[0]['externals'] = []): Promise<void> {
    const sql = `insert into commits (tbl, key, win, batch, live, seq, id, gen) ${select}`
    return this.#door.change({ sql, externals, settings: { ...this.#reading, ...this.#writing } })
  }

  async #ask<R extends Record<string, Cell>>(sql: string): Promise<R[]> {
    const ask = { sql: `${sql} format TabSeparatedWithNamesAndTypes`, settings: this.#reading }
    return rowsOf<R>(await this.#door.read(ask))
  }
}

const isNewest = ({ seq }: Head): string => `(select max(seq) from commits) = ${seq}`

/** Quorum and coordination: it may be there all the same. */
const doubtful = [159, 209, 210, 279, 285, 286, 319, 999]

const tabbed = (text: string): string =>
  text.replaceAll(/[\\\t\n]/g, (sign) => (sign === '\t' ? '\\t' : sign === '\n' ? '\\n' : '\\\\'))
