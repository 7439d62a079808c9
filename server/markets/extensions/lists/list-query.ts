// Finds one page of markets, events, series or tags (behaviour/markets.md#lists).
//
// 1. A list that names its records, or has a rare tag, reads the rows of these records by id and sorts them.
// 2. Any other list walks the index of its order. If it has filters, it examines the rows in several short queries, at
//    most `rowsMax` of them, or `rowsReadMax` if more than the index must be read. No document is read.
// 3. The order is total: value, then number, then id. So a cursor is a position, and a page starts after it.
import { nextEventLoopTurn } from '#runtime/clock.ts'
import type { listOrderColumns } from '#storage/schema/markets.ts'
import { selectIn } from '#storage/select-in.ts'
import type { StateReader, Value } from '#storage/state.ts'
import { noValue } from '../../write/list-rows.ts'

export type ListKind = 'market' | 'event' | 'series' | 'tag'
export type OrderColumn = (typeof listOrderColumns)[number]
export type FlagColumn = 'active' | 'archived' | 'featured'

export interface ListQuery {
  readonly kind: ListKind
  readonly order: OrderColumn
  readonly ascending: boolean
  /** Undefined: open records, or both kinds if records are named. */
  readonly closed?: boolean | undefined
  readonly flags?: Partial<Readonly<Record<FlagColumn, boolean | undefined>>>
  /** Both ends are included. A record without a value is in no range. */
  readonly ranges?: readonly ValueRange[]
  readonly ids?: readonly string[] | undefined
  /** Current slugs. */
  readonly slugs?: readonly string[] | undefined
  readonly conditionIds?: readonly string[] | undefined
  readonly tokenIds?: readonly string[] | undefined
  /** Records with one of these tags; a market also has the tags of its events. */
  readonly tagIds?: readonly string[] | undefined
  /** The same for tags that have this slug. */
  readonly tagSlug?: string | undefined
}

export interface ValueRange {
  readonly column: OrderColumn
  readonly min?: number | undefined
  readonly max?: number | undefined
}

export interface ListPosition {
  readonly value: number
  readonly number: number
  readonly id: string
}

export interface PageRequest {
  readonly offset: number
  readonly limit: number
  readonly after?: ListPosition | undefined
}

export interface ListPage {
  readonly ids: readonly string[]
  /** The last record that was returned or examined; undefined at the end of the list. */
  readonly next?: ListPosition | undefined
  /** The walk stopped at its limit before the page was full. */
  readonly isCut: boolean
}

export interface ListLimits {
  /** A tag is rare if at most this many records have it. */
  readonly rareTagMax: number
  /** Rows that one query examines. */
  readonly rowsPerScan: number
  /** Rows that one request examines, if the index has the values of all filters, and otherwise. */
  readonly rowsMax: number
  readonly rowsReadMax: number
}

const defaultLimits: ListLimits = { rareTagMax: 2000, rowsPerScan: 5000, rowsMax: 100_000, rowsReadMax: 20_000 }

export async function findPage(
  state: StateReader,
  requested: ListQuery,
  page: PageRequest,
  limits = defaultLimits,
): Promise<ListPage> {
  const query = { ...requested, tagIds: await findTagIds(state, requested) }
  const named = await findNamed(state, query)
  if (named) return sortNamed(state, query, named, page)
  const openOrClosed = { ...query, closed: query.closed ?? false }
  const tagged = query.tagIds && (await findTagged(state, query.kind, query.tagIds, limits.rareTagMax))
  return tagged ? sortNamed(state, openOrClosed, tagged, page) : walk(state, openOrClosed, page, limits)
}

/** The tags that the request names; undefined if it names none. */
async function findTagIds(state: StateReader, { tagIds, tagSlug }: ListQuery): Promise<ListQuery['tagIds']> {
  if (tagSlug === undefined) return tagIds
  const sql = "select id from market_records where kind = 'tag' and slug = ? order by id limit 100"
  const ids = (await state.all<{ id: string }>(sql, tagSlug)).map(({ id }) => id)
  return tagIds ? ids.filter((id) => tagIds.includes(id)) : ids
}

interface Condition {
  readonly sql: string
  readonly values: readonly Value[]
}

const placeholders = (values: readonly unknown[]): string => values.map(() => '?').join()

function rangeConditions(ranges: readonly ValueRange[]): Condition[] {
  return ranges.flatMap(({ column, min, max }) => [
    ...(min === undefined ? [] : [{ sql: `${column} >= ?`, values: [min] }]),
    ...(max === undefined ? [] : [{ sql: `${column} <= ? and ${column} > ?`, values: [max, noValue] }]),
  ])
}

function flagConditions({ flags = {} }: ListQuery): Condition[] {
  return Object.entries(flags).flatMap(([column, value]) =>
    value === undefined ? [] : [{ sql: `${column} = ?`, values: [Number(value)] }],
  )
}

const joinConditions = (conditions: readonly Condition[]): Condition => ({
  sql: conditions.map(({ sql }) => ` and ${sql}`).join(''),
  values: conditions.flatMap(({ values }) => values),
})

/** The records that the request names, by all of its lists of names; undefined if it names none. */
async function findNamed(state: StateReader, query: ListQuery): Promise<ReadonlySet<string> | undefined> {
  const { kind, ids, slugs, conditionIds, tokenIds } = query
  const sets: ReadonlySet<string>[] = ids ? [new Set(ids)] : []
  const add = async (sql: string, ...values: Value[]) => {
    sets.push(new Set((await state.all<{ id: string }>(sql, ...values)).map(({ id }) => id)))
  }
  if (slugs)
    await add(`select id from market_records where kind = ? and slug in (${placeholders(slugs)})`, kind, ...slugs)
  for (const [name, values] of [['condition', conditionIds] as const, ['token', tokenIds] as const]) {
    if (!values) continue
    const sql = `select market_id as id from market_keys where name = ? and value in (${placeholders(values)})`
    await add(sql, name, ...values)
  }
  return sets.length === 0 ? undefined : sets.reduce((all, set) => all.intersection(set))
}

/** The records with one of these tags; undefined if there are many. */
async function findTagged(state: StateReader, kind: ListKind, tagIds: readonly string[], rareTagMax: number) {
  const tagged = new Set<string>()
  for (const tagId of tagIds) {
    const linkedIds = 'select from_id as id from market_links where to_kind = ? and to_id = ? and from_kind = ?'
    const viaEvent = `select m.from_id as id from market_links t
      join market_links m on m.to_kind = 'event' and m.to_id = t.from_id and m.from_kind = 'market'
      where t.to_kind = 'tag' and t.to_id = ? and t.from_kind = 'event'`
    const limit = rareTagMax + 1
    const rows = await state.all<{ id: string }>(`${linkedIds} limit ?`, 'tag', tagId, kind, limit)
    if (kind === 'market') rows.push(...(await state.all<{ id: string }>(`${viaEvent} limit ?`, tagId, limit)))
    for (const { id } of rows) tagged.add(id)
    if (tagged.size > rareTagMax || rows.length >= limit) return undefined
  }
  return tagged
}

function tagCondition({ kind, tagIds }: ListQuery): Condition[] {
  if (!tagIds) return []
  if (tagIds.length === 0) return [{ sql: '1 = 0', values: [] }]
  const isTag = `t.to_kind = 'tag' and t.to_id in (${placeholders(tagIds)})`
  const hasTag = `exists (select 1 from market_links t
    where t.from_kind = '${kind}' and t.from_id = market_list.id and ${isTag})`
  if (kind !== 'market') return [{ sql: hasTag, values: tagIds }]
  const viaEvent = `exists (select 1 from market_links m
    join market_links t on t.from_kind = 'event' and t.from_id = m.to_id and ${isTag}
    where m.from_kind = 'market' and m.from_id = market_list.id and m.to_kind = 'event')`
  return [{ sql: `(${hasTag} or ${viaEvent})`, values: [...tagIds, ...tagIds] }]
}

async function sortNamed(
  state: StateReader,
  query: ListQuery,
  named: ReadonlySet<string>,
  { offset, limit, after }: PageRequest,
): Promise<ListPage> {
  const rows = await readNamed(state, query, named)
  const sign = query.ascending ? 1 : -1
  rows.sort((a, b) => sign * comparePositions(a, b))
  const following = after ? rows.filter((row) => sign * comparePositions(row, after) > 0) : rows
  return toPage(following.slice(offset, offset + limit + 1), limit)
}

/** The rows of the named records that match, in no particular order. */
function readNamed(state: StateReader, query: ListQuery, named: ReadonlySet<string>): Promise<ListPosition[]> {
  const { kind, order, closed } = query
  const isClosed = closed === undefined ? [] : [{ sql: 'closed = ?', values: [Number(closed)] }]
  const matches = joinConditions([
    ...isClosed,
    ...flagConditions(query),
    ...rangeConditions(query.ranges ?? []),
    ...tagCondition(query),
  ])
  const sql = `select ${order} as value, number, id from market_list where kind = ?${matches.sql} and id in`
  return selectIn<ListPosition>(state, sql, [kind, ...matches.values], [...named])
}

function comparePositions(a: ListPosition, b: ListPosition): number {
  return a.value - b.value || a.number - b.number || (a.id < b.id ? -1 : Number(a.id > b.id))
}

/** One row more than the limit shows that the list continues. */
function toPage(rows: readonly ListPosition[], limit: number): ListPage {
  const shown = rows.slice(0, limit)
  return { ids: shown.map(({ id }) => id), next: rows.length > limit ? shown.at(-1) : undefined, isCut: false }
}

async function walk(
  state: StateReader,
  query: ListQuery,
  { offset, limit, after }: PageRequest,
  limits: ListLimits,
): Promise<ListPage> {
  const { index, filters, rowsMax } = planWalk(query, limits)
  if (filters.sql === '') {
    const start = index.beyond(after)
    const sql = `${index.selectRows}${start.sql}${index.orderBy} limit ? offset ?`
    return toPage(await state.all<ListPosition>(sql, ...index.values, ...start.values, limit + 1, offset), limit)
  }
  const wanted = offset + limit + 1
  const found: ListPosition[] = []
  let last: ListPosition | undefined
  for await (const { part, end } of scanIndex(state, index, after, rowsMax, limits)) {
    const values = [...index.values, ...part.values, ...filters.values, wanted - found.length]
    const sql = `${index.selectRows}${part.sql}${filters.sql}${index.orderBy} limit ?`
    found.push(...(await state.all<ListPosition>(sql, ...values)))
    if (found.length >= wanted || !end) return toPage(found.slice(offset), limit)
    last = end
  }
  return { ids: found.slice(offset).map(({ id }) => id), next: last, isCut: true }
}

function planWalk(query: ListQuery, limits: ListLimits) {
  const index = walkSql(query)
  const beyondIndex = [...index.otherRanges, ...tagCondition(query)]
  const filters = joinConditions([...flagConditions(query), ...beyondIndex])
  return { index, filters, rowsMax: beyondIndex.length > 0 ? limits.rowsReadMax : limits.rowsMax }
}

/** Conditions for one part of the index after the other. `end` is the last row of a part; the last part has none. */
async function* scanIndex(
  state: StateReader,
  index: ReturnType<typeof walkSql>,
  after: ListPosition | undefined,
  rowsMax: number,
  { rowsPerScan }: ListLimits,
): AsyncGenerator<{ part: Condition; end: ListPosition | undefined }> {
  let from = after
  for (let examined = 0; examined < rowsMax; examined += rowsPerScan) {
    const start = index.beyond(from)
    const end = await state.get<ListPosition>(
      `${index.selectRows}${start.sql}${index.orderBy} limit 1 offset ?`,
      ...[...index.values, ...start.values, rowsPerScan - 1],
    )
    const stop = index.upTo(end)
    yield { part: { sql: start.sql + stop.sql, values: [...start.values, ...stop.values] }, end }
    if (!end) return
    from = end
    await nextEventLoopTurn()
  }
}

/** The parts of the statements that walk the index of an order. A range of the ordered column is a range of the index. */
function walkSql({ kind, order, ascending, closed = false, ranges = [] }: ListQuery) {
  const orderRange = joinConditions(rangeConditions(ranges.filter(({ column }) => column === order)))
  const columns = order === 'number' ? 'number, id' : `${order}, number, id`
  const compare = (operator: string, at: ListPosition | undefined): Condition => {
    if (!at) return { sql: '', values: [] }
    const values = order === 'number' ? [at.number, at.id] : [at.value, at.number, at.id]
    return { sql: ` and (${columns}) ${operator} (${placeholders(values)})`, values }
  }
  const direction = ascending ? '' : ' desc'
  return {
    selectRows: `select ${order} as value, number, id from market_list where kind = ? and closed = ?${orderRange.sql}`,
    values: [kind, Number(closed), ...orderRange.values] as Value[],
    otherRanges: rangeConditions(ranges.filter(({ column }) => column !== order)),
    orderBy: ` order by ${columns.replaceAll(',', `${direction},`)}${direction}`,
    beyond: (at: ListPosition | undefined) => compare(ascending ? '>' : '<', at),
    upTo: (at: ListPosition | undefined) => compare(ascending ? '<=' : '>=', at),
  }
}
