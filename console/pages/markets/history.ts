// Reconstructs past values of a market from its changes. A change has the old and the new value, so the history is computed
// from the present backwards. A field without changes has always had its present value.
import type { MarketChange } from '#api/contract/wire/market-changes.ts'
import type { Market } from '#api/contract/wire/markets.ts'
import type { Line, Mark } from '../../parts/plot.tsx'
import { listIn } from './market-values.ts'

/** The fields that plots show. */
const drawnFields = ['outcomePrices', 'bestBid', 'bestAsk', 'lastTradePrice', 'volumeNum', 'liquidityNum'] as const
type DrawnField = (typeof drawnFields)[number]

interface MarketMoment {
  readonly atUnix: number
  readonly values: Readonly<Partial<Record<DrawnField, unknown>>>
}

const isDrawn = (field: string): field is DrawnField => (drawnFields as readonly string[]).includes(field)

/** Oldest first. `changes` are newest first and may include related records, which are ignored. */
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
  // Extend the lines to the present.
  return last && nowUnix > last.atUnix ? [...moments, { atUnix: nowUnix, values: last.values }] : moments
}

export const plotNames = ['prices', 'book', 'volume', 'liquidity'] as const
export type PlotName = (typeof plotNames)[number]

export function toPlotData(name: PlotName, market: Market, moments: readonly MarketMoment[]) {
  const line = (label: string, valueAt: (values: MarketMoment['values']) => unknown): Line => ({
    label,
    values: moments.map(({ values }) => figure(valueAt(values))),
    steps: true,
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

/** Floats are precise enough for a plot; the list of changes shows the exact values. */
function figure(value: unknown): number | null {
  if (value === undefined || value === null || value === '') return null
  const number = Number(value)
  return Number.isFinite(number) ? number : null
}

/** For these fields, changes contain only ids, not records. */
const relatedFields = new Set(['events', 'categories', 'tags', 'imageOptimized', 'iconOptimized'])

/** The market with the changes of the live stream applied: a response may come from a cache that is older. */
export function applyChanges(market: Market, live: readonly MarketChange[]): Market {
  const ownChanges = live.filter(({ kind, id }) => kind === 'market' && id === market.id)
  if (ownChanges.length === 0) return market
  const fieldsAfter = ownChanges
    .toReversed()
    .flatMap(({ fields }) => fields.filter(({ field }) => !relatedFields.has(field)))
  return { ...market, ...Object.fromEntries(fieldsAfter.map(({ field, after }) => [field, after])) }
}

/** Sources update this field constantly. */
export const timeStampField = 'updatedAt'

/** Whether a change contains more than a new time stamp of the source. */
export const isVisibleChange = ({ change, fields }: Pick<MarketChange, 'change' | 'fields'>): boolean =>
  change !== 'changed' || fields.some(({ field }) => field !== timeStampField)

/** Changes of the live stream and of the list, newest first, without duplicates. */
export function mergeChanges(live: readonly MarketChange[], listed: readonly MarketChange[]): readonly MarketChange[] {
  const newest = BigInt(listed[0]?.cursor ?? -1)
  return [...live.filter(({ cursor }) => BigInt(cursor) > newest), ...listed]
}

/** Changes of these fields are events in the life of a market: field → text for the new value. */
const eventTexts: Readonly<Record<string, (after: unknown) => string | undefined>> = {
  active: (after) => (after === true ? 'opened' : 'deactivated'),
  acceptingOrders: (after) => (after === true ? 'orders accepted' : 'no more orders'),
  closed: (after) => (after === true ? 'closed' : 'reopened'),
  archived: (after) => (after === true ? 'archived' : undefined),
  oracleResolutionStatus: (after) => (after ? `resolution: ${after}` : undefined),
  endDate: () => 'end date changed',
  question: () => 'question changed',
}

/** Events of the market as marks of a plot, oldest first. Events at the same time share an entry. */
export function eventsOf(market: Pick<Market, 'id'>, changes: readonly MarketChange[]): readonly Mark[] {
  const events = changes.flatMap(({ at, kind, id, change, fields }) => {
    if (kind !== 'market' || id !== market.id) return []
    const texts = change === 'created' ? ['first seen'] : fields.map(({ field, after }) => eventTexts[field]?.(after))
    const label = texts.filter((text) => text !== undefined).join(', ')
    return label === '' ? [] : [{ x: Date.parse(at) / 1000, label }]
  })
  return events.toReversed()
}
