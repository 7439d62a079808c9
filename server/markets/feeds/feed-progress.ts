// Advances the state of a feed after each page, and stores it (read/feed-state.ts has the rules).
import { putRow } from '#storage/put-row.ts'
import type { StateWriter } from '#storage/state.ts'
import { type FeedState, type PassEnd, toColumn } from '../read/feed-state.ts'

export function storeFeedState(tx: StateWriter, feedState: FeedState): Promise<void> {
  const row = Object.entries(feedState).map(([field, value]) => [toColumn(field), value] as const)
  return putRow(tx, 'market_feeds', ['source'], Object.fromEntries(row))
}

const newer = (a: number | null, b: number | undefined): number | null =>
  b === undefined ? a : a === null ? b : Math.max(a, b)

/** The state after a page that is not the last. It is already counted. */
export const afterPage = (feedState: FeedState, cursor: string, newestMs: number | undefined): FeedState => ({
  ...feedState,
  cursor,
  newestSeenMs: newer(feedState.newestSeenMs, newestMs),
})

/**
 * The state after the last page, which is already counted. A full pass with too many missing markets, or a pass that
 * ended at a page that repeats, is not trusted: responses are based on the pass before it, and another one is due at once.
 */
export function afterLastPage(
  feedState: FeedState,
  passEnd: PassEnd,
  newestMs: number | undefined,
  nowMs: number,
): FeedState {
  const newestSeenMs = newer(feedState.newestSeenMs, newestMs)
  const safeMs = newestSeenMs === null ? undefined : Math.min(newestSeenMs, feedState.startedMs)
  const isTrusted = feedState.absent === 0 && passEnd !== 'page repeats'
  return {
    ...feedState,
    cursor: '',
    page: 0,
    records: 0,
    donePages: feedState.page,
    doneRecords: feedState.records,
    passEnd,
    readUntilMs: passEnd === 'page repeats' ? feedState.readUntilMs : newer(feedState.readUntilMs, safeMs),
    newestSeenMs: null,
    fullAtMs: feedState.pass === 'full' && isTrusted ? nowMs : feedState.fullAtMs,
    doneAtMs: nowMs,
    asOfMs: isTrusted ? feedState.startedMs : feedState.asOfMs,
  }
}
