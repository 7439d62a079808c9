// Finds one page of markets, events, series or tags (behaviour/markets.md#lists).
//
// 1. A list that names its records, or has a filter that few records match (a rare tag, a game), reads the rows of these
//    records by id and sorts them.
// 2. Any other list walks the index of its order. If it has filters, it examines the rows in several short queries, at
//    most `rowsMax` of them, or `rowsReadMax` if more than the index must be read. No document is read.
// 3. The order is total: value, then number, then id. So a cursor is a position, and a page starts after it.
import { nextEventLoopTurn } from '#runtime/clock.ts'
import type { listOrderColumns } from '#storage/schema/markets.ts'
import { selectIn } from '#storage/select-in.ts'
import type { StateReader, Value } from '#storage/state.ts'
import { type KeyName, noValue } from '../../write/list-rows.ts'

export type ListKind = 'market' | 'event' | 'series' | 'tag'
export type OrderColumn = (typeof listOrderColumns)[number]
/** Columns with a value that a range can have. */
export type RangeColumn = OrderColumn | 'event_start_ms'
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
  /** Names of markets: those that have one of the values of each key. */
  readonly named?: readonly KeyFilter[]
  /** Records with one of the values of each key. */
  readonly keys?: readonly KeyFilter[]
  /** Records with one of these tags; a market also has the tags of its events. */
  readonly tagIds?: readonly string[] | undefined
  /** Records with all of these tags. */
  readonly allTagIds?: readonly string[] | undefined
  /** Records with a tag that has one of these slugs. */
  readonly tagSlugs?: readonly string[] | undefined
  /** Records with none of these tags. */
  readonly excludedTagIds?: readonly string[] | undefined
  /** Events of one of these series. */
  readonly seriesIds?: readonly string[] | undefined
  /** Events of a series with this recurrence. */
  readonly seriesRecurrence?: string | undefined
}

export interface KeyFilter {
  readonly name: KeyName
  readonly values: readonly string[]
  /** Records that have none of the values. */
  readonly isExcluded?: boolean
}

export interface ValueRange {
  readonly column: RangeColumn
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
  /** A filter is rare if at most this many records match it. */
  readonly rareMax: number
  /** Rows that one query examines. */
  readonly rowsPerScan: number
  /** Rows that one request examines, if the index has the values of all filters, and otherwise. */
  readonly rowsMax: number
  readonly rowsReadMax: number
}

const defaultLimits: ListLimits = { rareMax: 2000, rowsPerScan: 5000, rowsMax: 100_000, rowsReadMax: 20_000 }

export async function findPage(
  state: StateReader,
  query: ListQuery,
  page: PageRequest,
  limits = defaultLimits,
): Promise<ListPage> {
  const filters = await findLinkFilters(state, query)
  const named = await findNamed(state, query)
  if (named) return sortNamed(state, { query, filters }, named, page)
  const list = { query: { ...query, closed: query.closed ?? false }, filters }
  const few = await findFew(state, filters, limits.rareMax)
  return few ? sortNamed(state, list, few, page) : walk(state, list, page, limits)
}

/** Which of these records match, in the order of the query. */
export async function selectMatching(
  state: StateReader,
  query: ListQuery,
  ids: readonly string[],
): Promise<ListPosition[]> {
  return readSorted(state, { query, filters: await findLinkFilters(state, query) }, ids)
}

interface FilteredList {
  readonly query: ListQuery
  readonly filters: readonly LinkFilter[]
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
  const { kind, ids, slugs, named = [] } = query
  const sets: ReadonlySet<string>[] = ids ? [new Set(ids)] : []
  const add = async (sql: string, ...values: Value[]) => {
    sets.push(new Set((await state.all<{ id: string }>(sql, ...values)).map(({ id }) => id)))
  }
  if (slugs)
    await add(`select id from market_records where kind = ? and slug in (${placeholders(slugs)})`, kind, ...slugs)
  for (const key of named) {
    const { sql, values } = selectByKey(kind, key)
    await add(sql, ...values)
  }
  return sets.length === 0 ? undefined : sets.reduce((all, set) => all.intersection(set))
}

/** A filter by what a record is linked to, or by one of its keys. */
interface LinkFilter {
  /** About a row of `market_list`. */
  readonly condition: Condition
  /** Statements that select the ids of the records that match; undefined if most records do. */
  readonly selects: readonly Condition[] | undefined
}

async function findLinkFilters(state: StateReader, query: ListQuery): Promise<readonly LinkFilter[]> {
  const { kind, tagIds, allTagIds = [], tagSlugs, excludedTagIds, keys = [], seriesIds, seriesRecurrence } = query
  return [
    ...(tagIds ? [tagFilter(kind, tagIds)] : []),
    ...allTagIds.map((id) => tagFilter(kind, [id])),
    ...(tagSlugs ? [tagFilter(kind, await findTagIds(state, tagSlugs))] : []),
    ...(excludedTagIds ? [excluded(tagFilter(kind, excludedTagIds))] : []),
    ...keys.map((key) => (key.isExcluded ? excluded(keyFilter(kind, key)) : keyFilter(kind, key))),
    ...(seriesIds ? [linkFilter('event', 'series', inList('l.to_id', seriesIds))] : []),
    ...(seriesRecurrence === undefined ? [] : [linkFilter('event', 'series', hasRecurrence(seriesRecurrence))]),
  ]
}

const excluded = ({ condition: { sql, values } }: LinkFilter): LinkFilter => ({
  condition: { sql: `not ${sql}`, values },
  selects: undefined,
})

const inList = (column: string, values: readonly string[]): Condition =>
  values.length === 0 ? { sql: '1 = 0', values } : { sql: `${column} in (${placeholders(values)})`, values }

async function findTagIds(state: StateReader, slugs: readonly string[]): Promise<string[]> {
  const sql = `select id from market_records where kind = 'tag' and ${inList('slug', slugs).sql} order by id limit 100`
  return (await state.all<{ id: string }>(sql, ...slugs)).map(({ id }) => id)
}

const selectByKey = (kind: ListKind, { name, values }: KeyFilter): Condition => {
  const isOne = inList('value', values)
  return {
    sql: `select id from market_keys where kind = ? and name = ? and ${isOne.sql}`,
    values: [kind, name, ...values],
  }
}

function keyFilter(kind: ListKind, key: KeyFilter): LinkFilter {
  const isOne = inList('k.value', key.values)
  const sql = `exists (select 1 from market_keys k
    where k.kind = ? and k.id = market_list.id and k.name = ? and ${isOne.sql})`
  return { condition: { sql, values: [kind, key.name, ...key.values] }, selects: [selectByKey(kind, key)] }
}

const hasRecurrence = (recurrence: string): Condition => ({
  sql: `exists (select 1 from market_keys k
    where k.kind = 'series' and k.name = 'recurrence' and k.value = ? and k.id = l.to_id)`,
  values: [recurrence],
})

/** Records of a kind that link to one of another kind for which the condition on `l.to_id` holds. */
function linkFilter(kind: ListKind, to: 'series' | 'tag', target: Condition): LinkFilter {
  const links = `from market_links l where l.to_kind = '${to}' and ${target.sql} and l.from_kind = '${kind}'`
  return {
    condition: { sql: `exists (select 1 ${links} and l.from_id = market_list.id)`, values: target.values },
    selects: [{ sql: `select l.from_id as id ${links}`, values: target.values }],
  }
}

function tagFilter(kind: ListKind, tagIds: readonly string[]): LinkFilter {
  const isTag = inList('l.to_id', tagIds)
  const own = linkFilter(kind, 'tag', isTag)
  if (kind !== 'market') return own
  const links = `from market_links l join market_links m on m.to_kind = 'event' and m.to_id = l.from_id and m.from_kind = 'market'
    where l.to_kind = 'tag' and ${isTag.sql} and l.from_kind = 'event'`
  return {
    condition: {
      sql: `(${own.condition.sql} or exists (select 1 ${links} and m.from_id = market_list.id))`,
      values: [...tagIds, ...tagIds],
    },
    selects: [...(own.selects ?? []), { sql: `select m.from_id as id ${links}`, values: tagIds }],
  }
}

/** The records that match a filter, of the first one that few records match. */
async function findFew(
  state: StateReader,
  filters: readonly LinkFilter[],
  fewMax: number,
): Promise<ReadonlySet<string> | undefined> {
  for (const { selects } of filters) {
    const ids = selects && (await selectFew(state, selects, fewMax))
    if (ids) return ids
  }
  return undefined
}

async function selectFew(state: StateReader, selects: readonly Condition[], fewMax: number) {
  const ids = new Set<string>()
  for (const { sql, values } of selects) {
    const rows = await state.all<{ id: string }>(`${sql} limit ?`, ...values, fewMax + 1)
    for (const { id } of rows) ids.add(id)
    if (ids.size > fewMax || rows.length > fewMax) return undefined
  }
  return ids
}

async function sortNamed(
  state: StateReader,
  list: FilteredList,
  named: ReadonlySet<string>,
  { offset, limit, after }: PageRequest,
): Promise<ListPage> {
  const rows = await readSorted(state, list, [...named])
  const sign = list.query.ascending ? 1 : -1
  const following = after ? rows.filter((row) => sign * comparePositions(row, after) > 0) : rows
  return toPage(following.slice(offset, offset + limit + 1), limit)
}

/** The rows of the named records that match. */
async function readSorted(
  state: StateReader,
  { query, filters }: FilteredList,
  named: readonly string[],
): Promise<ListPosition[]> {
  const { kind, order, closed } = query
  const isClosed = closed === undefined ? [] : [{ sql: 'closed = ?', values: [Number(closed)] }]
  const matches = joinConditions([
    ...isClosed,
    ...flagConditions(query),
    ...rangeConditions(query.ranges ?? []),
    ...filters.map(({ condition }) => condition),
  ])
  const sql = `select ${order} as value, number, id from market_list where kind = ?${matches.sql} and id in`
  const rows = await selectIn<ListPosition>(state, sql, [kind, ...matches.values], named)
  const sign = query.ascending ? 1 : -1
  return rows.sort((a, b) => sign * comparePositions(a, b))
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
  list: FilteredList,
  { offset, limit, after }: PageRequest,
  limits: ListLimits,
): Promise<ListPage> {
  const { index, filters, rowsMax } = planWalk(list, limits)
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

function planWalk({ query, filters: links }: FilteredList, limits: ListLimits) {
  const index = walkSql(query)
  const beyondIndex = [...index.otherRanges, ...links.map(({ condition }) => condition)]
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
