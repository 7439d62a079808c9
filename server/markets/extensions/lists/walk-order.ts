// Walks the order of a list in memory, from a position on (find-page.ts, rule 2).
import { nextEventLoopTurn } from '#runtime/clock.ts'
import type { ListView } from '../../columns/list-view.ts'
import { noValue } from '../../records/list-columns.ts'
import type { LinkFilter } from './link-filters.ts'
import { joinConditions } from './list-conditions.ts'
import type { ListPage, ListPosition, ListQuery, PageRequest } from './list-query.ts'
import type { ListReader } from './read-lists.ts'

export interface ListLimits {
  /** A filter is rare if at most this many records match it. */
  readonly rareMax: number
  /** Records that one query examines. */
  readonly rowsPerQuery: number
  /** Records that one request with filters examines, and if the database must be asked for their links. */
  readonly examinedMax: number
  readonly linkedMax: number
}

export async function walkOrder(
  { reader, view }: ListReader,
  query: ListQuery,
  filters: readonly LinkFilter[],
  { offset, limit, after }: PageRequest,
  limits: ListLimits,
): Promise<ListPage> {
  const { kind, closed, order, ascending } = query
  const sorted = await view.sorted({ kind, closed, order })
  const links = joinConditions(filters.map(({ condition }) => condition))
  const sql = `select place from market_list where place in (select value from json_each(?))${links.sql}`
  const selectLinked = async (places: readonly number[]) => {
    if (links.sql === '') return places
    const rows = await reader.all<{ place: number }>(sql, JSON.stringify(places), ...links.values)
    const linked = new Set(rows.map(({ place }) => place))
    await nextEventLoopTurn()
    return places.filter((place) => linked.has(place))
  }
  const wanted = offset + limit + 1
  const found: number[] = []
  const start = after ? findStart(view, sorted, query, after) : 0
  const examinedMax = links.sql === '' ? Math.max(limits.examinedMax, wanted) : limits.linkedMax
  const end = Math.min(start + examinedMax, sorted.length)
  const placeAt = (at: number) => sorted[ascending ? at : sorted.length - 1 - at] as number
  for (let from = start; from < end; from += limits.rowsPerQuery) {
    const part: number[] = []
    for (let at = from; at < Math.min(from + limits.rowsPerQuery, end); at++) {
      const place = placeAt(at)
      if (hasValues(view, place, query)) part.push(place)
    }
    found.push(...(await selectLinked(part)))
    if (found.length >= wanted) break
  }
  const places = found.slice(offset, wanted)
  if (found.length >= wanted || end === sorted.length) return toPage(view, query, places, limit)
  const next = positionOf(view, query, placeAt(end - 1))
  return { ids: places.map((place) => view.id(place)), next, isCut: true }
}

/** Where the list continues after a position. */
function findStart(view: ListView, sorted: Uint32Array, { order, ascending }: ListQuery, after: ListPosition): number {
  let [low, high] = [0, sorted.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    const compared = view.compareTo(order, sorted[middle] as number, after)
    // Before the position, or also at it if the list ascends.
    if (compared < 0 || (compared === 0 && ascending)) low = middle + 1
    else high = middle
  }
  return ascending ? low : sorted.length - low
}

/** Whether a record has the flags of the query, and a value in each of its ranges. */
export function hasValues(view: ListView, place: number, { closed, flags = {}, ranges = [] }: ListQuery): boolean {
  const hasFlag = (name: 'closed' | keyof typeof flags, wanted: boolean | undefined) =>
    wanted === undefined || view.flag(place, name) === wanted
  if (!hasFlag('closed', closed) || !hasFlag('active', flags.active)) return false
  if (!hasFlag('archived', flags.archived) || !hasFlag('featured', flags.featured)) return false
  return ranges.every(({ column, min, max }) => {
    if (min === undefined && max === undefined) return true
    const value = view.value(place, column)
    return value !== noValue && value >= (min ?? value) && value <= (max ?? value)
  })
}

/** One record more than the limit shows that the list continues. */
export function toPage(view: ListView, query: ListQuery, places: readonly number[], limit: number): ListPage {
  const shown = places.slice(0, limit)
  const last = places.length > limit ? shown.at(-1) : undefined
  return {
    ids: shown.map((place) => view.id(place)),
    next: last === undefined ? undefined : positionOf(view, query, last),
    isCut: false,
  }
}

const positionOf = (view: ListView, { order }: ListQuery, place: number): ListPosition => ({
  ...{ value: view.value(place, order), number: view.value(place, 'number'), id: view.id(place) },
})
