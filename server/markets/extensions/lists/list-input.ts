// Turns the inputs of the list endpoints into a query, and cursors into text (behaviour/markets.md#lists).
import type { Extensions } from '#api/contract/extensions.ts'
import type { Parsed } from '#api/contract/kit.ts'
import type { ListOrder } from '#api/contract/wire/market-lists.ts'
import { invalid } from '#core/fault.ts'
import { sourceMs } from '../../records/source-time.ts'
import { toThousandths } from '../../write/list-rows.ts'
import type { ListPosition, ListQuery, OrderColumn, ValueRange } from './list-query.ts'

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
export type FilterInput = Omit<
  Parsed<Extensions['markets.events']>,
  'limit' | 'offset' | 'volume_min' | 'volume_max' | 'liquidity_min' | 'liquidity_max'
>

export const orderOf = ({ order, ascending }: Pick<FilterInput, 'order' | 'ascending'>) => ({
  order: orderColumns[order],
  ascending,
})

export function toQuery(kind: 'market' | 'event', input: FilterInput, amountRanges: readonly ValueRange[]): ListQuery {
  const { id, slug, active, closed, archived, featured, tag_id, tag_slug } = input
  const ranges = [
    { column: 'start_ms', ...timeRange(input, 'start_date_min', 'start_date_max') },
    { column: 'end_ms', ...timeRange(input, 'end_date_min', 'end_date_max') },
    ...amountRanges,
  ] as const
  return {
    kind,
    ...orderOf(input),
    closed,
    flags: { active, archived, featured },
    ranges: ranges.filter(({ min, max }) => min !== undefined || max !== undefined),
    ids: id,
    slugs: slug,
    tagIds: tag_id,
    tagSlug: tag_slug,
  }
}

type TimeName = 'start_date_min' | 'start_date_max' | 'end_date_min' | 'end_date_max'

const timeRange = (input: FilterInput, min: TimeName, max: TimeName) => ({
  min: timeOf(input, min),
  max: timeOf(input, max),
})

function timeOf(input: FilterInput, name: TimeName): number | undefined {
  const text = input[name]
  if (text === undefined) return undefined
  const ms = sourceMs(text)
  if (ms === undefined) throw invalid(['query', name], 'must be a valid date or date-time', text)
  return ms
}

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
