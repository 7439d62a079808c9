// Carries embedded facts over to another store, slice by slice (decision 0143).
//
// 1. What is read is one moment of the source: a copy of its file. What is written after that moment is brought over by
//    moving again, which finds most slices equal.
// 2. A slice is one window of one key, replaced in one commit. It is compared before and after by its count and sums; so a move that
//    was cut off goes on by being started again, and one that has ended has verified every slice.
// 3. Coverage comes last: rows first, then the claim that they are there. Until the end the target bears a mark with which no
//    server opens it: it would read epochs again whose rows have come already, and count them twice.
// 4. The target is empty, or was filled by moves of this same source and has not come further than the source.
import { createHash } from 'node:crypto'
import { Fault } from '#core/fault.ts'
import { cover, coverageOf, uncover } from './coverage.ts'
import type { Cell, Columns, FactRow, Facts, FactsReader, FactsTable } from './facts.ts'
import { factsMigrations } from './migrations.ts'
import { type MovedTable, type MoveProgress, unfinished } from './move.ts'

const sourceMark = 'move/source'
const unfinishedMark = 'move/unfinished'
/** Of the column that rows are spread by, at a time: the memory of a move does not grow with the network. */
const spreadStep = 32_768
/** What one commit brings at most. */
const windowsMax = 64
const rowsMax = 2 ** 21
/** A prime: values are weighed by where they belong, so that exchanged ones are found. Products stay below 2^63 for 2^36 rows. */
const weights = 8191

/** `source` stands still. `id`: the name of the installation it is a copy of. */
export async function moveFacts(
  source: FactsReader,
  target: Facts,
  id: number,
  tell: (progress: MoveProgress) => void,
  signal: AbortSignal,
): Promise<MovedTable[]> {
  await claim(source, target, id)
  const tables = factsMigrations.flatMap((migration) => migration.tables ?? [])
  const inOrder = [
    ...tables.filter(({ name }) => name !== 'coverage'),
    ...tables.filter(({ name }) => name === 'coverage'),
  ]
  const moved: MovedTable[] = []
  for (const table of inOrder) moved.push(await new TableMove(source, target, table, tell, signal).bring())
  await target.write((tx) => uncover(tx, unfinishedMark, 1))
  return moved
}

/** Throws where a move has begun and not ended (invariant 3). */
export async function refuseUnfinishedFacts(facts: FactsReader): Promise<void> {
  if ((await coverageOf(facts, unfinishedMark)).length > 0) throw unfinished()
}

/** Invariant 4. Marks are coverage of streams that nobody reads. */
async function claim(source: FactsReader, target: Facts, id: number): Promise<void> {
  const known = (await coverageOf(target, sourceMark))[0]?.from
  const streams = (await target.query<{ stream: string }>('select distinct stream from coverage')).map(
    (row) => row.stream,
  )
  const own = streams.filter((stream) => !stream.startsWith('move/'))
  if (known !== undefined ? known !== id : own.length > 0) {
    throw new Fault('store.unavailable', { detail: 'the target holds facts of its own; name an empty database' })
  }
  const endOf = async (reader: FactsReader, stream: string) => (await coverageOf(reader, stream)).at(-1)?.until ?? 0
  for (const stream of own) {
    // Where it begins may differ: what is old is let go of.
    if ((await endOf(target, stream)) <= (await endOf(source, stream))) continue
    throw new Fault('store.unavailable', {
      detail: `the target has been used since it was moved to (${stream}); serve from it, or empty it`,
    })
  }
  await target.write(async (tx) => {
    await cover(tx, sourceMark, id, id + 1)
    await cover(tx, unfinishedMark, 0, 1)
  })
}

/** One key's rows whose window begins there; all of its rows in a table without windows. */
interface Place {
  readonly key: string
  readonly start: number
  readonly count: number
}

class TableMove {
  readonly #source: FactsReader
  readonly #target: Facts
  readonly #table: FactsTable
  readonly #tell: (progress: MoveProgress) => void
  readonly #signal: AbortSignal

  constructor(
    source: FactsReader,
    target: Facts,
    table: FactsTable,
    tell: (progress: MoveProgress) => void,
    signal: AbortSignal,
  ) {
    this.#source = source
    this.#target = target
    this.#table = table
    this.#tell = tell
    this.#signal = signal
  }

  async bring(): Promise<MovedTable> {
    const { name } = this.#table
    const places = await this.#places(this.#source)
    const known = new Set(places.map(textOf))
    const strangers = (await this.#places(this.#target)).filter((place) => !known.has(textOf(place)))
    if (strangers.length > 0) await this.#replace(strangers, false)
    const rowsTotal = countOf(places)
    const sum = createHash('sha256')
    let [rows, written] = [0, 0]
    for (const group of groupsOf(places)) {
      this.#signal.throwIfAborted()
      const ours = await this.#digests(this.#source, group)
      const differing = await this.#differing(group, ours)
      if (differing.length > 0) {
        await this.#replace(differing, true)
        const [wrong] = await this.#differing(group, ours)
        if (wrong) throw new Error(`${name}: ${wrong.key} from ${wrong.start} on is not what was moved`)
      }
      for (const place of group) sum.update(ours.get(place.start) ?? '')
      rows += countOf(group)
      written += countOf(differing)
      this.#tell({ table: name, rows, rowsTotal })
    }
    return { name, rows, written, sha256: sum.digest('hex') }
  }

  async #differing(group: readonly Place[], ours: ReadonlyMap<number, string>): Promise<Place[]> {
    const there = await this.#digests(this.#target, group)
    return group.filter(({ start }) => ours.get(start) !== there.get(start))
  }

  get #start(): string {
    const { window } = this.#table
    // In ClickHouse a remainder is as narrow as its divisor: of 225, a byte, it would be a signed byte.
    return window ? `${window.column} - ${window.column} % cast(${window.width} as bigint)` : '0'
  }

  async #places(reader: FactsReader): Promise<Place[]> {
    const { name, key } = this.#table
    const rows = await reader.query<{ place: string; start: number; rows_there: number }>(
      `select ${key} as place, ${this.#start} as start, count(*) as rows_there from ${name}
       group by place, start order by place, start`,
    )
    return rows
      .filter(({ place }) => !place.startsWith('move/'))
      .map((row) => ({ key: row.place, start: row.start, count: row.rows_there }))
  }

  /** By window. Small rows as they are; of numbers that are spread, what the store itself adds up. */
  async #digests(reader: FactsReader, group: readonly Place[]): Promise<Map<number, string>> {
    const { name, columns, spread, order } = this.#table
    const { where, values } = this.#within(group)
    const own = Object.keys(columns)
    const sums = this.#numbers().flatMap((column, at) => [
      `sum(${column}) as total${at}`,
      `sum((${spread} % ${weights}) * (${column} % ${weights})) as weighed${at}`,
    ])
    const sql = spread
      ? `select ${this.#start} as start, count(*) as rows_there, ${sums.join()} from ${name} ${where} group by start`
      : `select ${this.#start} as start, ${own.join()} from ${name} ${where} order by ${[...order, ...own].join()}`
    const rows = await reader.query<FactRow & { start: number }>(sql, values)
    return new Map(
      Array.from(
        Map.groupBy(rows, ({ start }) => start),
        ([start, of]) => [start, digestOf(of)],
      ),
    )
  }

  async #replace(places: readonly Place[], withRows: boolean): Promise<void> {
    const { name, window } = this.#table
    await this.#target.write(async (tx) => {
      for (const place of places) {
        const { key, start } = place
        await tx.remove(name, { key, ...(window && { from: start, until: start + window.width }) })
        if (withRows) for await (const columns of this.#rows(place)) await tx.append(name, columns)
      }
    })
  }

  async *#rows(place: Place): AsyncGenerator<Columns> {
    const { name, columns, spread, order } = this.#table
    const { where, values } = this.#within([place])
    const own = Object.keys(columns)
    const sql = `select ${own.join()} from ${name} ${where}`
    if (!spread) {
      yield columnsOf(own, await this.#source.query(sql, values))
      return
    }
    const [last] = await this.#source.query<{ last: number }>(
      `select max(${spread}) as last from ${name} ${where}`,
      values,
    )
    for (let from = 0; from <= (last?.last ?? 0); from += spreadStep) {
      this.#signal.throwIfAborted()
      const rows = await this.#source.query(`${sql} and ${spread} >= ? and ${spread} < ? order by ${order.join()}`, [
        ...values,
        from,
        from + spreadStep,
      ])
      if (rows.length > 0) yield columnsOf(own, rows)
    }
  }

  /** Of one key, from the first window to the last. */
  #within(places: readonly Place[]): { readonly where: string; readonly values: Cell[] } {
    const { key: column, window } = this.#table
    const [first, last] = [places[0], places.at(-1)]
    if (!first || !last) throw new Error('no place')
    if (!window) return { where: `where ${column} = ?`, values: [first.key] }
    return {
      where: `where ${column} = ? and ${window.column} >= ? and ${window.column} < ?`,
      values: [first.key, first.start, last.start + window.width],
    }
  }

  #numbers(): string[] {
    return Object.entries(this.#table.columns).flatMap(([name, type]) => (type === 'text' ? [] : [name]))
  }
}

const countOf = (places: readonly Place[]): number => places.reduce((sum, { count }) => sum + count, 0)

/** Neighbours of one key that are compared and committed together. */
function groupsOf(places: readonly Place[]): Place[][] {
  const groups: Place[][] = []
  for (const place of places) {
    const last = groups.at(-1)
    const fits =
      last && last[0]?.key === place.key && last.length < windowsMax && countOf(last) + place.count <= rowsMax
    if (fits) last.push(place)
    else groups.push([place])
  }
  return groups
}

const textOf = ({ key, start }: Place): string => `${start} ${key}`

const columnsOf = (names: readonly string[], rows: readonly FactRow[]): Columns =>
  Object.fromEntries(names.map((name) => [name, rows.map((row) => row[name])])) as Columns

const digestOf = (rows: readonly FactRow[]): string =>
  createHash('sha256')
    .update(JSON.stringify(rows.map((row) => Object.values(row).map(String))))
    .digest('hex')
