// The lock of a feed: one process reads it at a time, for a limited time (feed-state.ts, rule 1).
import type { MarketFeed } from '#runtime/settings/markets.ts'
import type { StateReader } from '#storage/state.ts'
import { type FeedState, readFeedState } from './feed-state.ts'
import { pageMaxMs } from './fetch-page.ts'

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
