// How much of the configured feeds has been read, and as of when: whether a market that is not found proves anything, and
// what the headers of an answer say (behaviour/http.md#confidence-headers, behaviour/markets.md#coverage).
import { Fault } from '#core/fault.ts'
import type { Confidence } from '#http/handler.ts'
import type { MarketFeed } from '#runtime/settings/markets.ts'
import type { State } from '#storage/state.ts'
import type { MarketsContext } from '../context.ts'
import { isRejected } from '../records/rejects.ts'
import { type FeedStateWithRejects, readFeedStates } from './feed-state.ts'

export interface FeedCoverage {
  /** `complete`, or the feeds that have been read completely once; `;incomplete`: without records that were rejected. */
  readonly coverage: string
  /** Everything the feeds showed by then is here; undefined without feeds, and until each has been read once. */
  readonly asOf: string | undefined
  /** Feeds that have not been read completely yet. */
  readonly unread: readonly string[]
  /** Feeds that show records which cannot be stored. */
  readonly incomplete: readonly string[]
}

/** What was read of the feeds of the settings; others do not count. */
export function computeFeedCoverage(
  feeds: readonly Pick<MarketFeed, 'id'>[],
  feedStates: readonly Pick<FeedStateWithRejects, 'source' | 'fullAtMs' | 'asOfMs' | 'rejected'>[],
): FeedCoverage {
  const known = new Map(feedStates.map((one) => [one.source, one]))
  const isRead = ({ id }: Pick<MarketFeed, 'id'>) => (known.get(id)?.fullAtMs ?? null) !== null
  const unread = feeds.filter((feed) => !isRead(feed)).map(({ id }) => id)
  const incomplete = feeds.map(({ id }) => id).filter((id) => (known.get(id)?.rejected ?? 0) > 0)
  const readFeeds = feeds.filter(isRead).map(({ id }) => `feed:${id}${incomplete.includes(id) ? ';incomplete' : ''}`)
  if (unread.length > 0) return { coverage: readFeeds.join() || 'none', asOf: undefined, unread, incomplete }
  const asOfMs = feeds.map(({ id }) => known.get(id)?.asOfMs ?? null).filter((ms) => ms !== null)
  const asOf = asOfMs.length > 0 ? new Date(Math.min(...asOfMs)).toISOString() : undefined
  return { coverage: incomplete.length > 0 ? readFeeds.join() : 'complete', asOf, unread, incomplete }
}

const withoutFeeds = computeFeedCoverage([], [])

/** To be asked before a market is looked for: what is read afterwards may hold it. */
export async function getFeedCoverage({ state, settings, markets }: MarketsContext): Promise<FeedCoverage> {
  const { feeds } = settings.markets
  if (feeds.length === 0) return withoutFeeds
  return markets.coverage(state, 'feeds', async () => computeFeedCoverage(feeds, await readFeedStates(state)))
}

export const toConfidence = ({ coverage, asOf }: FeedCoverage): Confidence => ({
  coverage,
  ...(asOf !== undefined && { asOf }),
})

/** A first pass takes minutes to hours: not worth waiting for inside a call. */
const retryWhenUnreadMs = 60_000

/** There is no such market, unless it may still come, or a feed shows it in a form that cannot be stored. */
export async function notFoundOrNotCovered(
  state: State,
  read: FeedCoverage,
  slug: string,
): Promise<{ readonly is: 'nothing'; readonly confidence: Confidence }> {
  const [first, ...others] = read.unread
  const isUnusable = await isRejected(state, slug, read.incomplete)
  if (first === undefined && !isUnusable) return { is: 'nothing', confidence: toConfidence(read) }
  const which = others.length === 0 ? `The feed ${first} has` : `The feed ${first} and ${others.length} more have`
  throw new Fault('markets.not_covered', {
    message: isUnusable
      ? unusableText
      : `${which} not been read completely yet, so a market that is not found may still come.`,
    retryAfterMs: retryWhenUnreadMs,
    headers: { 'x-tetrad-coverage': read.coverage },
  })
}

const unusableText =
  'A feed shows this market without an id, so it cannot be stored. It is read again with the next pass.'
