// In-memory state of the markets group.
import type { Context } from '#http/context.ts'
import { cacheUntilVersionChanges } from '#storage/version-cache.ts'
import type { FeedCoverage } from './read/feed-coverage.ts'
import type { ResponseForms } from './read/market-response.ts'
import { ResponseCache } from './read/response-cache.ts'

/** The group uses only what ingesters write. */
export type MarketsContext = Omit<Context, 'state' | 'duties' | 'provenTime'> & {
  readonly markets: ReturnType<typeof createMarketsCaches>
}

export const createMarketsCaches = () => ({
  coverage: cacheUntilVersionChanges<FeedCoverage>('markets'),
  /** By slug or id. */
  responses: new ResponseCache<ResponseForms>(),
})
