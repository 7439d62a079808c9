// Turns the inputs of the list endpoints into a query, and cursors into text (behaviour/markets.md#lists).
import type { Extensions } from '#api/contract/extensions.ts'
import type { Parsed } from '#api/contract/kit.ts'
import type { ListOrder } from '#api/contract/wire/market-lists.ts'
import { invalid } from '#core/fault.ts'
import { toThousandths } from '../../records/list-columns.ts'
import { sourceMs } from '../../records/source-time.ts'
import type { KeyName } from '../../write/list-rows.ts'
import type { KeyFilter, ListPosition, ListQuery, OrderColumn, RangeColumn, ValueRange } from './list-query.ts'

const orderColumns: Readonly<Record<ListOrder, OrderColumn>> = {
  id: 'number',
  volume: 'volume',
  volumeNum: 'volume',
  volume_num: 'volume',
  volume24hr: 'volume_24h',
  volume_24hr: 'volume_24h',
  liquidity: 'liquidity',
  liquidityNum: 'liquidity',
  liquidity_num: 'liquidity',
  startDate: 'start_ms',
  start_date: 'start_ms',
  endDate: 'end_ms',
  end_date: 'end_ms',
  createdAt: 'created_ms',
  created_at: 'created_ms',
  updatedAt: 'updated_ms',
  updated_at: 'updated_ms',
  closedTime: 'closed_ms',
  closed_time: 'closed_ms',
}

/** The inputs that lists of markets and of events share. */
export type FilterInput = Pick<
  Parsed<Extensions['markets.eventsKeyset']>,
  Exclude<keyof Parsed<Extensions['markets.eventsKeyset']> & keyof Parsed<Extensions['markets.list']>, 'limit'>
>

export const orderOf = ({ order, ascending }: { readonly order: ListOrder; readonly ascending: boolean }) => ({
  order: orderColumns[order],
  ascending,
})

export function toQuery(kind: 'market' | 'event', input: FilterInput, otherRanges: readonly ValueRange[]): ListQuery {
  const { id, slug, active, closed, archived, featured, tag_id, tag_match, tag_slug } = input
  const ranges = [
    timeRange('start_ms', input, 'start_date_min', 'start_date_max'),
    timeRange('end_ms', input, 'end_date_min', 'end_date_max'),
    ...otherRanges,
  ]
  return {
    kind,
    ...orderOf(input),
    closed,
    flags: { active, archived, featured },
    ranges: ranges.filter(({ min, max }) => min !== undefined || max !== undefined),
    ids: id,
    slugs: slug,
    ...(tag_match === 'all' ? { allTagIds: tag_id } : { tagIds: tag_id }),
    tagSlugs: tag_slug === undefined ? undefined : [tag_slug],
  }
}

/** The range of a time, from two inputs. */
export function timeRange<Name extends string>(
  column: RangeColumn,
  input: Readonly<Partial<Record<Name, string | undefined>>>,
  min: Name,
  max: Name,
): ValueRange {
  return { column, min: timeOf(input, min), max: timeOf(input, max) }
}

function timeOf<Name extends string>(
  input: Readonly<Partial<Record<Name, string | undefined>>>,
  name: Name,
): number | undefined {
  const text = input[name]
  if (text === undefined) return undefined
  const ms = sourceMs(text)
  if (ms === undefined) throw invalid(['query', name], 'must be a valid date or date-time', text)
  return ms
}

/** For each key that the input has values for. */
export const keyFilters = (filters: Readonly<Partial<Record<KeyName, KeyInput>>>): KeyFilter[] =>
  Object.entries(filters).flatMap(([name, given]) => {
    if (given === undefined) return []
    if (typeof given === 'boolean') return [{ name: name as KeyName, values: ['true'], isExcluded: !given }]
    return [{ name: name as KeyName, values: [given].flat().map(String) }]
  })

type KeyInput = string | number | boolean | readonly string[] | undefined

export const amountRange = (column: 'volume' | 'liquidity', min?: string, max?: string): ValueRange => ({
  column,
  min: min === undefined ? undefined : toThousandths(Number(min)),
  max: max === undefined ? undefined : toThousandths(Number(max)),
})

/** A cursor contains its order, because a position means nothing in another one. */
export function writeCursor({ order, ascending }: ListQuery, { value, number, id }: ListPosition): string {
  return Buffer.from(JSON.stringify([order, ascending, value, number, id])).toString('base64url')
}

export function readCursor({ order, ascending }: ListQuery, text: string): ListPosition {
  const cursor = parseCursor(text)
  if (!cursor) throw invalid(['query', 'after_cursor'], 'must be a next_cursor of this list')
  if (cursor.order !== order || cursor.ascending !== ascending)
    throw invalid(['query', 'after_cursor'], 'belongs to a list with another order')
  return cursor
}

function parseCursor(text: string): (ListPosition & Pick<ListQuery, 'ascending'> & { order: unknown }) | undefined {
  try {
    const [order, ascending, value, number, id] = JSON.parse(Buffer.from(text, 'base64url').toString())
    const isValid = typeof ascending === 'boolean' && [value, number].every(Number.isSafeInteger)
    return isValid && typeof id === 'string' ? { order, ascending, value, number, id } : undefined
  } catch {
    return undefined
  }
}
