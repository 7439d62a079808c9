// A market's past from its changes: what each field was from when on. Changes tell both sides, so the past unrolls from
// the newest backwards, and a field that never changed was always what it is.

import type { MarketChange } from '#api/wire/market-changes.ts'
import type { Market } from '#api/wire/markets.ts'
import { listIn } from './market-values.ts'

/** The fields that are drawn. */
const drawnFields = ['outcomePrices', 'bestBid', 'bestAsk', 'lastTradePrice', 'volumeNum', 'liquidityNum'] as const
type DrawnField = (typeof drawnFields)[number]

export interface MarketMoment {
  readonly atUnix: number
  readonly values: Readonly<Partial<Record<DrawnField, unknown>>>
}

const isDrawn = (field: string): field is DrawnField => (drawnFields as readonly string[]).includes(field)

/** Oldest first. `changes` are newest first, of any records; only the market's own count. */
export function momentsOf(market: Market, changes: readonly MarketChange[], nowUnix: number): readonly MarketMoment[] {
  const values: Partial<Record<DrawnField, unknown>> = {}
  for (const field of drawnFields) values[field] = market[field]
  const moments: MarketMoment[] = []
  for (const { at, kind, id, change, fields } of changes) {
    if (kind !== 'market' || id !== market.id) continue
    const drawn = fields.filter(({ field }) => isDrawn(field))
    if (drawn.length === 0 && change !== 'created') continue
    for (const { field, after } of drawn) values[field as DrawnField] = after
    moments.push({ atUnix: Date.parse(at) / 1000, values: { ...values } })
    if (change === 'created') break
    for (const { field, before } of drawn) values[field as DrawnField] = before
  }
  moments.reverse()
  const last = moments.at(-1)
  // The line goes on up to now.
  return last && nowUnix > last.atUnix ? [...moments, { atUnix: nowUnix, values: last.values }] : moments
}

export const plotNames = ['prices', 'book', 'volume', 'liquidity'] as const
export type PlotName = (typeof plotNames)[number]

export interface PlotData {
  readonly xs: readonly number[]
  readonly lines: readonly { readonly label: string; readonly values: readonly (number | null)[]; steps: true }[]
}

export function toPlotData(name: PlotName, market: Market, moments: readonly MarketMoment[]): PlotData {
  const line = (label: string, valueAt: (values: MarketMoment['values']) => unknown) => ({
    label,
    values: moments.map(({ values }) => figure(valueAt(values))),
    steps: true as const,
  })
  const lines = {
    prices: () =>
      listIn(market.outcomes).map((label, index) => line(label, (values) => listIn(values.outcomePrices)[index])),
    book: () => [
      line('Best bid', ({ bestBid }) => bestBid),
      line('Best ask', ({ bestAsk }) => bestAsk),
      line('Last trade', ({ lastTradePrice }) => lastTradePrice),
    ],
    volume: () => [line('Volume', ({ volumeNum }) => volumeNum)],
    liquidity: () => [line('Liquidity', ({ liquidityNum }) => liquidityNum)],
  }[name]()
  return { xs: moments.map(({ atUnix }) => atUnix), lines }
}

/** A place on a plot may be a float; the exact figures stand in the list of changes. */
function figure(value: unknown): number | null {
  if (value === undefined || value === null || value === '') return null
  const number = Number(value)
  return Number.isFinite(number) ? number : null
}

/** Of these a change tells ids, not records. */
const linked = new Set(['events', 'categories', 'tags', 'imageOptimized', 'iconOptimized'])

/** The market with what the stream has told since; an answer may come out of a cache that does not know it yet. */
export function applied(market: Market, live: readonly MarketChange[]): Market {
  const own = live.filter(({ kind, id }) => kind === 'market' && id === market.id)
  if (own.length === 0) return market
  const fieldsAfter = own.toReversed().flatMap(({ fields }) => fields.filter(({ field }) => !linked.has(field)))
  return { ...market, ...Object.fromEntries(fieldsAfter.map(({ field, after }) => [field, after])) }
}

/** Sources touch this field all the time. */
export const stamp = 'updatedAt'

/** Says more than that a source has looked at the record again. */
export const isVisibleChange = ({ change, fields }: Pick<MarketChange, 'change' | 'fields'>): boolean =>
  change !== 'changed' || fields.some(({ field }) => field !== stamp)

/** Newest first, each once: what the stream brought above what the list had. */
export function merged(live: readonly MarketChange[], listed: readonly MarketChange[]): readonly MarketChange[] {
  const newest = BigInt(listed[0]?.cursor ?? -1)
  return [...live.filter(({ cursor }) => BigInt(cursor) > newest), ...listed]
}
