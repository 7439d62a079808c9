// Computes how completely the configured feeds have been read, and as of when (behaviour/markets.md#coverage). It decides
// whether "not found" is certain, and fills the confidence headers.
import type { Awaitable } from '#core/awaitable.ts'
import { Fault } from '#core/fault.ts'
import type { Confidence } from '#http/handler.ts'
import type { MarketFeed } from '#runtime/settings/markets.ts'
import type { State, StateReader } from '#storage/state.ts'
import type { MarketsContext } from '../context.ts'
import type { MarketKey } from '../records/kinds.ts'
import type { ThreadContext } from '../threads/thread-query.ts'
import { type FeedStateWithRejects, readFeedStates } from './feed-state.ts'
import { isRejected } from './rejected-records.ts'

export interface FeedCoverage {
  /** `complete`, or the feeds that have been read completely once. `;incomplete` marks feeds with rejected records. */
  readonly coverage: string
  /** Everything that the feeds listed by then is stored. Undefined without feeds and until each has been read once. */
  readonly asOf: string | undefined
  /** Feeds that have not been read completely yet. */
  readonly unread: readonly string[]
  /** Feeds that list records which cannot be stored. */
  readonly incomplete: readonly string[]
}

/** Only configured feeds count. */
export function computeFeedCoverage(
  feeds: readonly Pick<MarketFeed, 'id'>[],
  feedStates: readonly Pick<FeedStateWithRejects, 'source' | 'fullAtMs' | 'asOfMs' | 'rejected'>[],
): FeedCoverage {
  const states = new Map(feedStates.map((feedState) => [feedState.source, feedState]))
  const isRead = ({ id }: Pick<MarketFeed, 'id'>) => (states.get(id)?.fullAtMs ?? null) !== null
  const unread = feeds.filter((feed) => !isRead(feed)).map(({ id }) => id)
  const incomplete = feeds.map(({ id }) => id).filter((id) => (states.get(id)?.rejected ?? 0) > 0)
  const readFeeds = feeds.filter(isRead).map(({ id }) => `feed:${id}${incomplete.includes(id) ? ';incomplete' : ''}`)
  if (unread.length > 0) return { coverage: readFeeds.join() || 'none', asOf: undefined, unread, incomplete }
  const asOfMs = feeds.map(({ id }) => states.get(id)?.asOfMs ?? null).filter((ms) => ms !== null)
  const asOf = asOfMs.length > 0 ? new Date(Math.min(...asOfMs)).toISOString() : undefined
  return { coverage: incomplete.length > 0 ? readFeeds.join() : 'complete', asOf, unread, incomplete }
}

const withoutFeeds = computeFeedCoverage([], [])

/** Call this before looking up a market: a feed may add the market in between. */
export function getFeedCoverage({ ingest, settings, markets }: MarketsContext): Awaitable<FeedCoverage> {
  const { feeds } = settings.markets
  if (feeds.length === 0) return withoutFeeds
  return markets.coverage(ingest, 'feeds', async () => computeFeedCoverage(feeds, await readFeedStates(ingest)))
}

/**
 * Reads records and the coverage that a response reports with them, both in one snapshot, possibly of a replica. Of two
 * servers, one could have a finished pass and the other not yet its records (storage/state.ts, rule 8).
 *
 * `work` returns its faults instead of throwing them, because a replica whose snapshot throws counts as failed.
 */
export const readWithCoverage = <T>(
  { ingest, settings: { markets } }: ThreadContext,
  work: (reader: StateReader) => Promise<T>,
  isRecent: (reader: StateReader) => Promise<boolean> = async () => true,
): Promise<{ readonly coverage: FeedCoverage; readonly result: T }> =>
  ingest.recent.snapshot(isRecent, async (reader) => {
    const { feeds } = markets
    const coverage = feeds.length === 0 ? withoutFeeds : computeFeedCoverage(feeds, await readFeedStates(reader))
    return { coverage, result: await work(reader) }
  })

export const toConfidence = ({ coverage, asOf }: FeedCoverage): Confidence => ({
  coverage,
  ...(asOf !== undefined && { asOf }),
})

/** A first pass takes minutes to hours. */
const retryWhenUnreadMs = 60_000

/** "Not found", or a fault if a feed may still deliver the market or lists it in a form that cannot be stored. */
export async function notFoundOrNotCovered(state: State, read: FeedCoverage, key: MarketKey) {
  if (!(await isRejected(state, key, read.incomplete))) return unreadOrNotFound(read, 'market')
  const missing = typeof key === 'string' ? 'an id' : 'a slug'
  const message = `A feed lists this market without ${missing}, so it was not stored. Tetrad retries with the next pass.`
  throw notCovered(read, message)
}

/** "Not found", or a fault if a feed may still deliver the record. */
export function unreadOrNotFound(read: FeedCoverage, kind: 'market' | 'event' | 'series' | 'tag') {
  const [firstFeed, ...otherFeeds] = read.unread
  if (firstFeed === undefined) return { is: 'nothing', confidence: toConfidence(read) } as const
  const which =
    otherFeeds.length === 0 ? `Feed ${firstFeed} has` : `Feed ${firstFeed} and ${otherFeeds.length} more have`
  throw notCovered(read, `${which} not been read completely yet, so this ${kind} may still exist.`)
}

const notCovered = (read: FeedCoverage, message: string): Fault =>
  new Fault('markets.not_covered', {
    message,
    retryAfterMs: retryWhenUnreadMs,
    headers: { 'x-tetrad-coverage': read.coverage },
  })
