// Finds one page of markets, events, series or tags (behaviour/markets.md#lists).
//
// 1. A list that names its records, or has a filter that few records match (a rare tag, a game), reads the places of these
//    records and sorts them.
// 2. Any other list walks its order in memory (columns/list-view.ts). It examines at most `examinedMax` records, or
//    `linkedMax` if the database must be asked what they are linked to. No document is read.
// 3. The order is total: value, then number, then id. So a cursor is a position, and a page starts after it.
import { selectIn } from '#storage/select-in.ts'
import type { Value } from '#storage/state.ts'
import { findFew, findLinkFilters, type LinkFilter } from './link-filters.ts'
import { joinConditions, placeholders, selectByKey } from './list-conditions.ts'
import type { ListPage, ListQuery, PageRequest } from './list-query.ts'
import type { ListReader } from './read-lists.ts'
import { hasValues, type ListLimits, toPage, walkOrder } from './walk-order.ts'

const defaultLimits: ListLimits = { rareMax: 2000, rowsPerQuery: 5000, examinedMax: 100_000, linkedMax: 20_000 }

export async function findPage(
  lists: ListReader,
  query: ListQuery,
  page: PageRequest,
  limits = defaultLimits,
): Promise<ListPage> {
  const filters = await findLinkFilters(lists.reader, query)
  const named = await findNamed(lists, query)
  if (named) return sortNamed(lists, query, filters, named, page)
  const whole = { ...query, closed: query.closed ?? false }
  const few = await findFew(lists.reader, filters, limits.rareMax)
  return few ? sortNamed(lists, whole, filters, few, page) : walkOrder(lists, whole, filters, page, limits)
}

/** Which of these records match, in the order of the query. */
export async function selectMatching(lists: ListReader, query: ListQuery, ids: readonly string[]): Promise<string[]> {
  const places = await findSorted(lists, query, await findLinkFilters(lists.reader, query), ids)
  return places.map((place) => lists.view.id(place))
}

/** The records that the request names, by all of its lists of names; undefined if it names none. */
async function findNamed({ reader }: ListReader, query: ListQuery): Promise<ReadonlySet<string> | undefined> {
  const { kind, ids, slugs, named = [] } = query
  const sets: ReadonlySet<string>[] = ids ? [new Set(ids)] : []
  const add = async (sql: string, ...values: Value[]) => {
    sets.push(new Set((await reader.all<{ id: string }>(sql, ...values)).map(({ id }) => id)))
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
  lists: ListReader,
  query: ListQuery,
  filters: readonly LinkFilter[],
  named: ReadonlySet<string>,
  { offset, limit, after }: PageRequest,
): Promise<ListPage> {
  const places = await findSorted(lists, query, filters, [...named])
  const sign = query.ascending ? 1 : -1
  const isAfter = (place: number) => !after || sign * lists.view.compareTo(query.order, place, after) > 0
  return toPage(lists.view, query, places.filter(isAfter).slice(offset, offset + limit + 1), limit)
}

/** The places of the named records that match. */
async function findSorted(
  { reader, view }: ListReader,
  query: ListQuery,
  filters: readonly LinkFilter[],
  named: readonly string[],
): Promise<number[]> {
  const links = joinConditions(filters.map(({ condition }) => condition))
  const sql = `select place from market_list where kind = ?${links.sql} and id in`
  const rows = await selectIn<{ place: number }>(reader, sql, [query.kind, ...links.values], named)
  const sign = query.ascending ? 1 : -1
  return rows
    .map(({ place }) => place)
    .filter((place) => hasValues(view, place, query))
    .sort((a, b) => sign * view.compare(query.order, a, b))
}
