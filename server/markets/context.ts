// In-memory state of the markets group.
import type { Context } from '#http/context.ts'
import type { Clock } from '#runtime/clock.ts'
import type { WorkerThread } from '#runtime/worker-thread.ts'
import { cacheUntilVersionChanges } from '#storage/version-cache.ts'
import { ListViews } from './columns/list-views.ts'
import type { FeedCoverage } from './read/feed-coverage.ts'
import type { ResponseForms } from './read/market-response.ts'
import { ResponseCache } from './read/response-cache.ts'
import { createMarketThreads, type MarketThreads } from './threads/thread-query.ts'
import { KnownRecords } from './write/known-records.ts'
import { SourceForms } from './write/source-forms.ts'

/** The group uses only what ingesters write. */
export type MarketsContext = Omit<Context, 'state' | 'duties' | 'provenTime'> & {
  readonly markets: ReturnType<typeof createMarketsCaches>
}

/** `marketThreads`: undefined in commands, tests and on other threads. */
export const createMarketsCaches = (clock: Clock, marketThreads?: WorkerThread) => ({
  coverage: cacheUntilVersionChanges<FeedCoverage>('markets'),
  threads: createMarketThreads(clock, marketThreads) as MarketThreads,
  lists: new ListViews(),
  ...createWriterCaches(),
  /** By slug or id. */
  responses: new ResponseCache<ResponseForms>(),
})

/** Of the process that reads feeds. */
function createWriterCaches() {
  const known = new KnownRecords()
  return { known, sourceForms: new SourceForms(known) }
}
