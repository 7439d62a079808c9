// Decides whether a page ends a pass over a feed (behaviour/markets.md#pages-that-repeat). Pure.
import type { MarketFeed } from '#runtime/settings/markets.ts'
import type { FeedState, PassEnd } from '../read/feed-state.ts'
import { type FeedPage, isPartOf, overlapOf } from './feed-page.ts'
import type { SeenRecords } from './seen-records.ts'

/** The pages of this pass that have been read. After an interruption, they are counted anew. */
export interface PassSoFar {
  /** A recent pass asks for changes since this time of the source. */
  readonly sinceMs: number | undefined
  readonly seen: SeenRecords
  readonly previous: FeedPage | undefined
}

/** Why this page ends the pass; undefined if it does not. */
export function findPassEnd(
  feed: MarketFeed,
  { pass, page: pagesBefore }: FeedState,
  page: FeedPage,
  { sinceMs, seen, previous }: PassSoFar,
): PassEnd | undefined {
  const { since, newestFirst } = feed.recent
  const stopsAtOldRecords = pass === 'recent' && newestFirst && since === ''
  if (page.next === undefined) return 'end'
  // All records must be old: one of them may be out of order, or have a wrong time.
  if (stopsAtOldRecords && sinceMs !== undefined && page.newestMs !== undefined && page.newestMs < sinceMs) return 'end'
  if (seen.hasNew(page.records)) return undefined
  if (page.records.length <= overlapOf(feed)) return 'end'
  // Some sources return their last page for every position beyond it. That paging works at all is known from the pages
  // before it.
  const isPreviousPage = pagesBefore >= 2 && isPartOf(feed, page, previous)
  return isPreviousPage ? 'last page repeats' : 'page repeats'
}
