// In-memory state of the markets group.
import type { Context } from '#http/context.ts'
import { cacheUntilVersionChanges, type VersionCache } from '#storage/version-cache.ts'
import { StreamSlots } from './endpoints/stream-slots.ts'
import type { FeedCoverage } from './feeds/feed-coverage.ts'
import type { ResponseForms } from './records/market-response.ts'
import { ResponseCache } from './records/response-cache.ts'

export interface MarketsCaches {
  readonly coverage: VersionCache<FeedCoverage>
  /** By slug or id. */
  readonly responses: ResponseCache<ResponseForms>
  readonly streamSlots: StreamSlots
}

/** The group does not use the duties database. */
export type MarketsContext = Omit<Context, 'duties'> & { readonly markets: MarketsCaches }

export const createMarketsCaches = (): MarketsCaches => ({
  coverage: cacheUntilVersionChanges(),
  responses: new ResponseCache(),
  streamSlots: new StreamSlots(),
})
