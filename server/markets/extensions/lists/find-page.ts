// Finds one page of markets, events, series or tags (behaviour/markets.md#lists).
//
// 1. A list that names its records, or has a filter that few records match (a rare tag, a game), reads the rows of these
//    records by id and sorts them.
// 2. Any other list walks the index of its order. If it has filters, it examines the rows in several short queries, at
//    most `rowsMax` of them, or `rowsReadMax` if more than the index must be read. No document is read.
// 3. The order is total: value, then number, then id. So a cursor is a position, and a page starts after it.
import { selectIn } from '#storage/select-in.ts'
import type { StateReader, Value } from '#storage/state.ts'
import { findFew, findLinkFilters } from './link-filters.ts'
import { flagConditions, joinConditions, placeholders, rangeConditions, selectByKey } from './list-conditions.ts'
import type { ListPage, ListPosition, ListQuery, PageRequest } from './list-query.ts'
import { type FilteredList, type ListLimits, toPage, walkIndex } from './walk-index.ts'

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
  return few ? sortNamed(state, list, few, page) : walkIndex(state, list, page, limits)
}

/** Which of these records match, in the order of the query. */
export async function selectMatching(
  state: StateReader,
  query: ListQuery,
  ids: readonly string[],
): Promise<ListPosition[]> {
  return readSorted(state, { query, filters: await findLinkFilters(state, query) }, ids)
}

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
