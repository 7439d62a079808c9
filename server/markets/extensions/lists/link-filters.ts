// Filters of lists by tags, series and keys: what a record is linked to, and the values by which callers look it up.
import type { StateReader } from '#storage/state.ts'
import { type Condition, inList, selectByKey } from './list-conditions.ts'
import type { KeyFilter, ListKind, ListQuery } from './list-query.ts'

/** A filter by what a record is linked to, or by one of its keys. */
export interface LinkFilter {
  /** About a row of `market_list`. */
  readonly condition: Condition
  /** Statements that select the ids of the records that match; undefined if most records do. */
  readonly selects: readonly Condition[] | undefined
}

export async function findLinkFilters(state: StateReader, query: ListQuery): Promise<readonly LinkFilter[]> {
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

async function findTagIds(state: StateReader, slugs: readonly string[]): Promise<string[]> {
  const sql = `select id from market_records where kind = 'tag' and ${inList('slug', slugs).sql} order by id limit 100`
  return (await state.all<{ id: string }>(sql, ...slugs)).map(({ id }) => id)
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
export async function findFew(
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
