// Walks the index of the order of a list, from a position on (find-page.ts, rule 2).
import { nextEventLoopTurn } from '#runtime/clock.ts'
import type { StateReader, Value } from '#storage/state.ts'
import type { LinkFilter } from './link-filters.ts'
import { type Condition, flagConditions, joinConditions, placeholders, rangeConditions } from './list-conditions.ts'
import type { ListPage, ListPosition, ListQuery, PageRequest } from './list-query.ts'

export interface ListLimits {
  /** A filter is rare if at most this many records match it. */
  readonly rareMax: number
  /** Rows that one query examines. */
  readonly rowsPerScan: number
  /** Rows that one request examines, if the index has the values of all filters, and otherwise. */
  readonly rowsMax: number
  readonly rowsReadMax: number
}

export interface FilteredList {
  readonly query: ListQuery
  readonly filters: readonly LinkFilter[]
}

export async function walkIndex(
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

/** One row more than the limit shows that the list continues. */
export function toPage(rows: readonly ListPosition[], limit: number): ListPage {
  const shown = rows.slice(0, limit)
  return { ids: shown.map(({ id }) => id), next: rows.length > limit ? shown.at(-1) : undefined, isCut: false }
}
