// Copies SQLite databases to PostgreSQL, in ranges of rows (behaviour/operations.md#moving-to-postgresql).
//
// 1. The source is a copy of its file, so the server may continue during the move. A second move copies what was written
//    since; most ranges are then equal.
// 2. Ranges are compared before and after: equal ones are skipped, others are written and read again. So an interrupted
//    move continues when it is started again, and a finished move has verified every row.
// 3. Rows are deleted first, referencing tables before referenced ones, and inserted in the opposite order. So foreign keys
//    are always satisfied.
// 4. The target must be empty, or filled only by moves of the same source: each transaction of a move records when
//    it began. A database that has been used since is refused.
// 5. All targets are marked as unfinished until everything is verified, and the source was not in use. So no server and no
//    command uses a target that lacks something, and would be refused later by rule 4 (open.ts).
import { createHash } from 'node:crypto'
import { Fault } from '#core/fault.ts'
import type { Random } from '#runtime/random.ts'
import { cursorOf, moveCursor } from './coverage.ts'
import { type Table, tablesOf } from './move-tables.ts'
import { storable, transactionStart } from './postgres/dialect.ts'
import { replaceOnConflict } from './put-row.ts'
import type { State, StateReader, StateWriter, Value } from './state.ts'

const rowsPerRange = 1000
const sourceIdKey = 'move/source'
const commitKey = 'move/commit'
const unfinishedKey = 'move/unfinished'

export interface MoveProgress {
  readonly table: string
  readonly rows: number
  readonly rowsTotal: number
}

export interface MovedTable {
  readonly name: string
  readonly rows: number
  /** Rows written by this run. */
  readonly written: number
  /** SHA-256 over all rows in order, equal on both sides. */
  readonly sha256: string
}

type Cells = readonly Value[]

/** The id by which a target knows the databases that are moved to it; created by the first move. */
export async function identifySources(sources: readonly State[], random: Random): Promise<number> {
  const ids = await Promise.all(sources.map((source) => cursorOf(source, sourceIdKey)))
  const id = ids[0] ?? random.bytes(6).reduce((sum, byte) => sum * 256 + byte, 0)
  for (const [at, source] of sources.entries())
    if (ids[at] !== id) await source.write((tx) => moveCursor(tx, sourceIdKey, id))
  return id
}

export interface StoreMove {
  /** A copy of the database, made after `identifySources`. */
  readonly source: State
  readonly target: State
  /** Tables that are not copied, because another database is moved to the same tables. */
  readonly except?: readonly string[]
  /** Prefix of table names in reports. */
  readonly prefix?: string
}

/** `isFinal`: nothing writes to the source any more. */
export async function moveStores(
  moves: readonly StoreMove[],
  report: (progress: MoveProgress) => void,
  signal: AbortSignal,
  isFinal = true,
): Promise<readonly MovedTable[]> {
  const planned: (StoreMove & { readonly id: number; readonly tables: readonly Table[] })[] = []
  for (const move of moves) {
    const tables = (await tablesOf(move.source)).filter(({ name }) => !move.except?.includes(name))
    planned.push({ ...move, tables, id: await refuseUsed(move, tables) })
  }
  for (const { target, id } of planned)
    await numbered(target, async (tx) => {
      await moveCursor(tx, sourceIdKey, id)
      await moveCursor(tx, unfinishedKey, id)
    })
  const movedTables: MovedTable[] = []
  for (const { source, target, tables, prefix = '' } of planned) {
    const work = tables.map((table) => planTableMove({ source, target, prefix }, table, report, signal))
    for (const table of work.toReversed()) await table.removeForeignRows()
    for (const table of work) await table.copy()
    for (const table of work) movedTables.push(await table.verified())
  }
  if (isFinal)
    for (const { target } of planned)
      await numbered(target, (tx) => tx.run('delete from cursors where stream = ?', unfinishedKey))
  return movedTables
}

/** Throws if a move to this database was interrupted, or began while a server used the source. */
export async function refuseUnfinishedState(state: StateReader): Promise<void> {
  if ((await cursorOf(state, unfinishedKey)) === undefined) return
  throw new Fault('store.unavailable', {
    detail:
      'the move to this database is not complete; stop the server on the data folder and run `tetrad move` again, or empty the database',
  })
}

/** Rule 4. Returns the id of the source. */
async function refuseUsed({ source, target }: StoreMove, tables: readonly Table[]): Promise<number> {
  const [id, known, last] = [
    await cursorOf(source, sourceIdKey),
    await cursorOf(target, sourceIdKey),
    await cursorOf(target, commitKey),
  ]
  if (id === undefined) throw new Error('the source has no id')
  const isNew = known === undefined && (await isEmpty(target, tables))
  const detail = isNew
    ? undefined
    : known !== id
      ? 'the target contains other data; use an empty database'
      : last !== (await newestCommit(target))
        ? 'the target has been used since the last move and would lose new data; use it, or empty it'
        : undefined
  if (detail) throw new Fault('store.unavailable', { detail })
  return id
}

/** Tables without a key have one row from a migration. */
async function isEmpty(target: State, tables: readonly Table[]): Promise<boolean> {
  for (const { name, key } of tables)
    if (key.length > 0 && (await target.get(`select 1 as one from ${name} limit 1`))) return false
  return true
}

/** When the last transaction that changed something began. */
const newestCommit = async (state: StateReader): Promise<number> =>
  (await state.get<{ at: number }>('select max(at_us) as at from state_commits'))?.at ?? 0

const numbered = <T>(target: State, work: (tx: StateWriter) => Promise<T>): Promise<T> =>
  target.write(async (tx) => {
    const result = await work(tx)
    const now = await tx.get<{ at: number }>(`select ${transactionStart} as at`)
    await moveCursor(tx, commitKey, now?.at ?? 0)
    return result
  })

/** Rows with keys after `after`, up to and including `upTo`; by default from the first to the last. */
interface KeyRange {
  readonly after?: Cells
  readonly upTo?: Cells
}

function planTableMove(
  { source, target, prefix = '' }: StoreMove,
  table: Table,
  report: (progress: MoveProgress) => void,
  signal: AbortSignal,
) {
  const { name, columns, key, refersTo } = table
  const shownName = `${prefix}${name}`
  const differing: KeyRange[] = []
  let written = 0

  const keyOf = (row: Cells): Cells => key.map((column) => row[columns.indexOf(column)] ?? null)
  const keyText = (row: Cells): string => JSON.stringify(keyOf(row).map(cellText))

  async function read(state: State, { after, upTo }: KeyRange, limit?: number): Promise<Cells[]> {
    const placeholders = key.map(() => '?').join(', ')
    const bounds = [...(after ? ['>'] : []), ...(upTo ? ['<='] : [])].map(
      (sign) => `(${key.join(', ')}) ${sign} (${placeholders})`,
    )
    // The cursors of the move itself are not copied.
    const exceptMove = name === 'cursors' ? [`stream not like 'move/%'`] : []
    const where = [...bounds, ...exceptMove].join(' and ')
    const sql = [
      `select ${columns.join(', ')} from ${name}`,
      where && `where ${where}`,
      `order by ${(key.length > 0 ? key : columns).join(', ')}`,
      limit === undefined ? '' : `limit ${limit}`,
    ].join(' ')
    const rows = await state.all<Record<string, Value>>(sql, ...(after ?? []), ...(upTo ?? []))
    return rows.map((row) => columns.map((column) => row[column] ?? null))
  }

  /** The rows of the source by range. The last range has no end, so that it includes further rows of the target. */
  async function* readRanges(): AsyncGenerator<
    { readonly range: KeyRange; readonly rows: readonly Cells[] },
    undefined
  > {
    const total = await source.get<{ n: number }>(`select count(*) as n from ${name}`)
    let after: Cells | undefined
    for (let count = 0; ; ) {
      signal.throwIfAborted()
      const open: KeyRange = after ? { after } : {}
      const rows = await read(source, open, key.length > 0 ? rowsPerRange : undefined)
      count += rows.length
      const last = key.length === 0 || rows.length < rowsPerRange
      const upTo = last ? undefined : keyOf(rows.at(-1) as Cells)
      yield { range: { ...open, ...(upTo && { upTo }) }, rows }
      report({ table: shownName, rows: count, rowsTotal: total?.n ?? 0 })
      if (!upTo) return
      after = upTo
    }
  }

  async function remove(rows: readonly Cells[]): Promise<void> {
    if (rows.length === 0 || key.length === 0) return
    const sql = `delete from ${name} where ${key.map((column) => `${column} = ?`).join(' and ')}`
    await numbered(target, async (tx) => {
      for (const row of rows) await tx.run(sql, ...keyOf(row))
    })
  }

  return {
    /** Finds the ranges that differ, and deletes rows that are not in the source. */
    async removeForeignRows(): Promise<void> {
      for await (const { range, rows } of readRanges()) {
        const targetRows = await read(target, range)
        if (digestOf(rows) === digestOf(targetRows)) continue
        differing.push(range)
        const sourceDigests = new Map(rows.map((row) => [keyText(row), digestOf([row])]))
        // With foreign keys, rows that differ are deleted too, because they may reference a row that must be deleted.
        const stays = (row: Cells): boolean => {
          const digest = sourceDigests.get(keyText(row))
          return refersTo.length > 0 ? digest === digestOf([row]) : digest !== undefined
        }
        await remove(targetRows.filter((row) => !stays(row)))
      }
    },

    async copy(): Promise<void> {
      const onConflict = key.length === 0 ? '' : replaceOnConflict(key, columns)
      for (const range of differing) {
        signal.throwIfAborted()
        const rows = await read(source, range)
        await numbered(target, async (tx) => {
          if (key.length === 0) await tx.run(`delete from ${name}`)
          await tx.insertMany(name, columns, rows, onConflict)
        })
        written += rows.length
      }
    },

    async verified(): Promise<MovedTable> {
      const sum = createHash('sha256')
      let count = 0
      for await (const { range, rows } of readRanges()) {
        const digest = digestOf(rows)
        if (digestOf(await read(target, range)) !== digest) {
          throw new Error(`${shownName}: rows up to ${JSON.stringify(range.upTo?.map(String))} differ after the move`)
        }
        count += rows.length
        sum.update(digest)
      }
      return { name: shownName, rows: count, written, sha256: sum.digest('hex') }
    },
  }
}

const cellText = (cell: Value): string | null =>
  cell === null
    ? null
    : cell instanceof Uint8Array
      ? `x${cell.toHex()}`
      : typeof cell === 'string'
        ? `s${storable(cell)}`
        : `n${cell}`

const digestOf = (rows: readonly Cells[]): string =>
  createHash('sha256')
    .update(JSON.stringify(rows.map((row) => row.map(cellText))))
    .digest('hex')
