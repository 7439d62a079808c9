// The response about a market as of a past time, as a query of the history (thread-query.ts).
import { marketAsOf, type PastMarket } from '../read/market-as-of.ts'
import type { MarketKey } from '../records/kinds.ts'
import type { ThreadQuery } from './thread-query.ts'

interface Input {
  readonly key: MarketKey
  readonly asOfMs: number
}

export const marketAsOfQuery: ThreadQuery<Input, PastMarket | undefined> = {
  name: 'marketAsOf',
  run: ({ ingest }, { key, asOfMs }) => marketAsOf(ingest, key, asOfMs),
}
