// How far a feed has been read: one row per feed, updated in the transaction that writes the page.
//
// 1. One reader at a time: a reader locks the feed for a limited time and renews the lock with each page. A page of a
//    reader that has lost the lock is not written.
// 2. An interrupted pass continues with its next page.
// 3. Everything that the source changed before `readUntilMs` has been read. It is a time of the source, and never later
//    than the start of the pass, because pages that were read early may have changed since.
import type { StateReader, StateWriter } from '#storage/state.ts'
import type { Pass } from './feed-page.ts'

export interface FeedState {
  readonly source: string
  readonly pass: Pass
  /** Empty: the first page. */
  readonly cursor: string
  /** Pages read in this pass; 0: not started. */
  readonly page: number
  readonly fullPass: number
  readonly startedMs: number
  readonly readUntilMs: number | null
  readonly newestSeenMs: number | null
  readonly fullAtMs: number | null
  readonly doneAtMs: number | null
  /** Start of the last finished pass: everything that the source listed by then has been read. */
  readonly asOfMs: number | null
  /** Markets missing from the last full pass, if too many to mark as vanished; otherwise 0. */
  readonly absent: number
  readonly holder: string
  readonly heldUntilMs: number
}

const columns = `source, pass, cursor, page, full_pass as "fullPass", started_ms as "startedMs", read_until_ms as "readUntilMs",
  newest_seen_ms as "newestSeenMs", full_at_ms as "fullAtMs", done_at_ms as "doneAtMs",
  as_of_ms as "asOfMs", absent, holder, held_until_ms as "heldUntilMs"`

export const readFeedState = (reader: StateReader, source: string): Promise<FeedState | undefined> =>
  reader.get<FeedState>(`select ${columns} from market_feeds where source = ?`, source)

export interface FeedStateWithRejects extends FeedState {
  /** Records of the feed that cannot be stored (rejects.ts). */
  readonly rejected: number
}

export const readFeedStates = (reader: StateReader): Promise<FeedStateWithRejects[]> =>
  reader.all<FeedStateWithRejects>(
    `select ${columns}, (select count(*) from market_rejects r where r.source = f.source) as rejected
     from market_feeds f order by source`,
  )

export const newFeedState = (source: string): FeedState => ({
  source,
  pass: 'full',
  cursor: '',
  page: 0,
  fullPass: 0,
  startedMs: 0,
  readUntilMs: null,
  newestSeenMs: null,
  fullAtMs: null,
  doneAtMs: null,
  asOfMs: null,
  absent: 0,
  holder: '',
  heldUntilMs: 0,
})

export async function storeFeedState(tx: StateWriter, feedState: FeedState): Promise<void> {
  await tx.run(
    `insert into market_feeds (source, pass, cursor, page, full_pass, started_ms, read_until_ms, newest_seen_ms, full_at_ms,
       done_at_ms, as_of_ms, absent, holder, held_until_ms) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     on conflict (source) do update set pass = excluded.pass, cursor = excluded.cursor, page = excluded.page,
       full_pass = excluded.full_pass, started_ms = excluded.started_ms, read_until_ms = excluded.read_until_ms,
       newest_seen_ms = excluded.newest_seen_ms, full_at_ms = excluded.full_at_ms, done_at_ms = excluded.done_at_ms,
       as_of_ms = excluded.as_of_ms, absent = excluded.absent, holder = excluded.holder, held_until_ms = excluded.held_until_ms`,
    feedState.source,
    feedState.pass,
    feedState.cursor,
    feedState.page,
    feedState.fullPass,
    feedState.startedMs,
    feedState.readUntilMs,
    feedState.newestSeenMs,
    feedState.fullAtMs,
    feedState.doneAtMs,
    feedState.asOfMs,
    feedState.absent,
    feedState.holder,
    feedState.heldUntilMs,
  )
}

const newer = (a: number | null, b: number | undefined): number | null =>
  b === undefined ? a : a === null ? b : Math.max(a, b)

/** The state after a page that is not the last. */
export const afterPage = (feedState: FeedState, cursor: string, newestMs: number | undefined): FeedState => ({
  ...feedState,
  cursor,
  page: feedState.page + 1,
  newestSeenMs: newer(feedState.newestSeenMs, newestMs),
})

/**
 * The state after the last page. A full pass with too many missing markets is not trusted: responses are based on the
 * pass before it, and another full pass is due at once.
 */
export function afterLastPage(feedState: FeedState, newestMs: number | undefined, nowMs: number): FeedState {
  const newestSeenMs = newer(feedState.newestSeenMs, newestMs)
  const safeMs = newestSeenMs === null ? undefined : Math.min(newestSeenMs, feedState.startedMs)
  const isTrusted = feedState.absent === 0
  return {
    ...feedState,
    cursor: '',
    page: 0,
    readUntilMs: newer(feedState.readUntilMs, safeMs),
    newestSeenMs: null,
    fullAtMs: feedState.pass === 'full' && isTrusted ? nowMs : feedState.fullAtMs,
    doneAtMs: nowMs,
    asOfMs: isTrusted ? feedState.startedMs : feedState.asOfMs,
  }
}

export interface FeedProblem {
  readonly message: string
  readonly todo: string
}

/** Why a feed is incomplete although it is read regularly. */
export function findFeedProblem({
  absent,
  rejected,
}: Pick<FeedStateWithRejects, 'absent' | 'rejected'>): FeedProblem | undefined {
  if (absent > 0) {
    return {
      message: `${absent} markets are missing from the last full pass, more than vanishShareMax allows; none is marked as vanished`,
      todo: 'check what the feed returns; if these markets are really gone, set vanishShareMax: 1 for it',
    }
  }
  if (rejected === 0) return undefined
  return {
    message: `${rejected} ${rejected === 1 ? 'record has' : 'records have'} no id or no slug and cannot be stored`,
    todo: 'list them with `tetrad markets rejects`; if the source renamed the fields, set markets.feeds[].fields',
  }
}
