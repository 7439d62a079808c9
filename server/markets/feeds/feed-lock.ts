// The lock of a feed: one process reads it at a time, for a limited time (read/feed-state.ts, rule 1). Whoever gets it
// continues the interrupted pass or begins a full or recent one.
import type { MarketFeed } from '#runtime/settings/markets.ts'
import type { StateReader } from '#storage/state.ts'
import type { MarketsContext } from '../context.ts'
import { type FeedState, newFeedState, type Pass, readFeedState } from '../read/feed-state.ts'
import { hasRecent } from './feed-page.ts'
import { storeFeedState } from './feed-progress.ts'
import { pageMaxMs } from './fetch-page.ts'
import type { PassOptions } from './read-feed.ts'

/** Another process reads this feed. */
export class FeedLocked extends Error {
  override readonly name = 'FeedLocked'
  constructor(source: string) {
    super(`the feed ${source} is being read by another process`)
  }
}

/** Longer than a page can take, requested twice. */
export const lockMs = (feed: MarketFeed): number => 2 * pageMaxMs(feed)

/** A lock that ends later than a lock can is from a clock that was wrong, so its end says nothing. */
export const isLocked = (feed: MarketFeed, { holder, heldUntilMs }: FeedState, nowMs: number): boolean =>
  holder !== '' && heldUntilMs > nowMs && heldUntilMs <= nowMs + lockMs(feed)

export async function refuseIfTakenOver(reader: StateReader, feed: MarketFeed, { holder }: FeedState): Promise<void> {
  if ((await readFeedState(reader, feed.id))?.holder !== holder) throw new FeedLocked(feed.id)
}

/** Locks the feed and decides whether the pass is full or recent. Throws `FeedLocked` if another process has the lock. */
export function lockFeed(
  context: MarketsContext,
  feed: MarketFeed,
  { holder, takeOver, full }: Pick<PassOptions, 'holder' | 'takeOver' | 'full'>,
): Promise<FeedState> {
  const nowMs = context.clock.now()
  return context.ingest.write(
    async (tx) => {
      const stored = (await readFeedState(tx, feed.id)) ?? newFeedState(feed.id)
      if (stored.holder !== holder && isLocked(feed, stored, nowMs) && !takeOver) throw new FeedLocked(feed.id)
      const lock = { holder, heldUntilMs: nowMs + lockMs(feed) }
      const isUnfinished = stored.page > 0 && (stored.pass === 'full' || !full)
      const feedState = { ...stored, ...lock, ...(isUnfinished ? {} : startPass(feed, stored, nowMs, full)) }
      await storeFeedState(tx, feedState)
      return feedState
    },
    { lock: 'markets' },
  )
}

function startPass(feed: MarketFeed, stored: FeedState, nowMs: number, full = false) {
  const { fullPass, fullAtMs, readUntilMs, startedMs, asOfMs } = stored
  const isFullDue =
    full ||
    fullAtMs === null ||
    Math.abs(nowMs - fullAtMs) >= feed.fullEveryMs ||
    readUntilMs === null ||
    !hasRecent(feed)
  const pass: Pass = isFullDue ? 'full' : 'recent'
  // A full pass that stopped on its first page starts again under the same number, or it would count as one more pass
  // in which markets were missing.
  const isRestart = stored.pass === 'full' && startedMs !== (asOfMs ?? 0)
  const nextFullPass = isFullDue && !isRestart ? fullPass + 1 : fullPass
  return { pass, cursor: '', page: 0, records: 0, startedMs: nowMs, newestSeenMs: null, fullPass: nextFullPass }
}

/** Ignores errors, because the lock expires anyway. */
export async function releaseFeed(context: MarketsContext, source: string, holder: string): Promise<void> {
  await context.ingest
    .write((tx) => tx.run("update market_feeds set holder = '' where source = ? and holder = ?", source, holder), {
      lock: 'markets',
    })
    .catch(() => {})
}
