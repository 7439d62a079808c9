// What the markets group keeps in memory while the server runs.
import type { Context } from '#http/context.ts'
import { cacheUntilVersionChanges, type VersionCache } from '#storage/version-cache.ts'
import { StreamSlots } from './endpoints/stream-slots.ts'
import type { FeedCoverage } from './feeds/coverage.ts'
import type { ResponseForms } from './records/market-response.ts'
import { ResponseCache } from './records/response-cache.ts'

export interface MarketsCaches {
  readonly coverage: VersionCache<FeedCoverage>
  /** By slug. */
  readonly responses: ResponseCache<ResponseForms>
  readonly streamSlots: StreamSlots
}

/** The group keeps nothing in the duties database. */
export type MarketsContext = Omit<Context, 'duties'> & { readonly markets: MarketsCaches }

export const createMarketsCaches = (): MarketsCaches => ({
  coverage: cacheUntilVersionChanges(),
  responses: new ResponseCache(),
  streamSlots: new StreamSlots(),
})
