// The listing of the demo feed: the demo markets with moving prices and volumes.
import { isoOf } from './dates.ts'
import type { EventTrading } from './event-trading.ts'
import type { FeedEntry } from './feed.ts'
import { type FlatRecord, flatName, stated } from './nested-records.ts'

/** The trading of an event and the ids of its markets. */
export interface TradedEvent {
  readonly trading: EventTrading
  readonly marketIds: readonly string[]
}

export function createTradingListing(
  records: readonly FlatRecord[],
  events: readonly TradedEvent[],
  nowMs: () => number,
) {
  const byName = new Map(records.map((record) => [flatName(record.kind, record.id), record]))
  /** By id, as of the day on which the demo was created. Only trading changes them. */
  const markets = new Map(
    events.flatMap(({ marketIds }) => marketIds.map((id) => [id, stated(byName, 'market', id) ?? {}] as const)),
  )
  /** Of each event as of its last trade: the pages of a pass and most polls need the same ones. */
  const latest = new Map<TradedEvent, { readonly tradeMs: number; readonly entries: readonly FeedEntry[] }>()

  /** As of the last trade: a record must not change without its updatedAt. */
  const entriesAt = ({ trading, marketIds }: TradedEvent, tradeMs: number): FeedEntry[] => {
    const updatedAt = isoOf(tradeMs)
    const eventFields = { ...trading.eventFields(tradeMs), updatedAt }
    return marketIds.map((id, at) => {
      const value: Record<string, unknown> = { ...markets.get(id) }
      if (value.active === true && value.closed === false) {
        const tradedEvents = (value.events as object[]).map((event) => ({ ...event, ...eventFields }))
        Object.assign(value, trading.marketFields(at, tradeMs), { updatedAt, events: tradedEvents })
      }
      return { id, value, updatedMs: Date.parse(String(value.updatedAt)) }
    })
  }

  return {
    entries: (atMs = nowMs()): FeedEntry[] =>
      events.flatMap((event) => {
        const tradeMs = event.trading.lastTradeMs(atMs)
        const known = latest.get(event)
        if (known?.tradeMs === tradeMs) return known.entries
        const entries = entriesAt(event, tradeMs)
        latest.set(event, { tradeMs, entries })
        return entries
      }),
  }
}
