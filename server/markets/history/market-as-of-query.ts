// The response about a market as of a past time, as a query of the history (history-query.ts).
import { marketAsOf, type PastMarket } from '../read/market-as-of.ts'
import type { MarketKey } from '../records/kinds.ts'
import type { HistoryQuery } from './history-query.ts'

interface Input {
  readonly key: MarketKey
  readonly asOfMs: number
}

export const marketAsOfQuery: HistoryQuery<Input, PastMarket | undefined> = {
  name: 'marketAsOf',
  run: ({ ingest }, { key, asOfMs }) => marketAsOf(ingest, key, asOfMs),
}
