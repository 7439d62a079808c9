// The listing of the demo feed: the demo markets with moving prices and volumes.
import { isoOf } from './dates.ts'
import type { EventTrading } from './event-trading.ts'
import type { FeedEntry, FeedListing } from './feed.ts'
import { type FlatRecord, flatName, stated } from './nested-records.ts'

/** The trading of an event and the ids of its markets. */
export interface TradedEvent {
  readonly trading: EventTrading
  readonly marketIds: readonly string[]
}

export class TradingListing implements FeedListing {
  /** By id, as of the day on which the demo was created. Only trading changes them. */
  readonly #markets: ReadonlyMap<string, Record<string, unknown>>
  readonly #events: readonly TradedEvent[]
  readonly #nowMs: () => number
  /** Of each event as of its last trade: the pages of a pass and most polls need the same ones. */
  readonly #latest = new Map<TradedEvent, { readonly tradeMs: number; readonly entries: readonly FeedEntry[] }>()

  constructor(records: readonly FlatRecord[], events: readonly TradedEvent[], nowMs: () => number) {
    const byName = new Map(records.map((record) => [flatName(record.kind, record.id), record]))
    const ids = events.flatMap(({ marketIds }) => marketIds)
    this.#markets = new Map(ids.map((id) => [id, stated(byName, 'market', id) ?? {}]))
    this.#events = events
    this.#nowMs = nowMs
  }

  entries(nowMs = this.#nowMs()): FeedEntry[] {
    return this.#events.flatMap((event) => {
      const tradeMs = event.trading.lastTradeMs(nowMs)
      const latest = this.#latest.get(event)
      if (latest?.tradeMs === tradeMs) return latest.entries
      const entries = this.#entriesAt(event, tradeMs)
      this.#latest.set(event, { tradeMs, entries })
      return entries
    })
  }

  /** As of the last trade: a record must not change without its updatedAt. */
  #entriesAt({ trading, marketIds }: TradedEvent, tradeMs: number): FeedEntry[] {
    const updatedAt = isoOf(tradeMs)
    const eventFields = { ...trading.eventFields(tradeMs), updatedAt }
    return marketIds.map((id, at) => {
      const value = { ...this.#markets.get(id) }
      if (value.active === true && value.closed === false) {
        const events = (value.events as object[]).map((event) => ({ ...event, ...eventFields }))
        Object.assign(value, trading.marketFields(at, tradeMs), { updatedAt, events })
      }
      return { id, value, updatedMs: Date.parse(String(value.updatedAt)) }
    })
  }
}
