// How far a feed has been read: one row per feed, moved in the transaction that writes the page it speaks of.
//
// 1. One reader at a time: whoever reads a feed holds it for a while and renews that with each page. A page of a reader
//    that no longer holds it is not written.
// 2. A pass that was cut off goes on at the page it had come to.
// 3. `markMs` never runs ahead: everything the source changed before it has been read. It is taken from the source's own
//    times, and never beyond the moment the pass began, because a page read early may have changed since.
import type { StateReader, StateWriter } from '#storage/state.ts'
import type { Pass } from './feed-page.ts'

export interface FeedState {
  readonly source: string
  readonly pass: Pass
  /** Empty: the first page. */
  readonly cursor: string
  /** Pages read in this pass; 0: it has not begun. */
  readonly page: number
  readonly sweep: number
  readonly startedMs: number
  readonly markMs: number | null
  readonly reachedMs: number | null
  readonly fullAtMs: number | null
  readonly doneAtMs: number | null
  /** When the last pass that was finished began: whatever the source showed by then has been read. */
  readonly asOfMs: number | null
  /** Markets that the last full pass did not show, if they were too many to be marked as vanished; otherwise 0. */
  readonly absent: number
  readonly holder: string
  readonly heldUntilMs: number
}

const columns = `source, pass, cursor, page, sweep, started_ms as "startedMs", mark_ms as "markMs",
  reached_ms as "reachedMs", full_at_ms as "fullAtMs", done_at_ms as "doneAtMs",
  as_of_ms as "asOfMs", absent, holder, held_until_ms as "heldUntilMs"`

export const readFeedState = (reader: StateReader, source: string): Promise<FeedState | undefined> =>
  reader.get<FeedState>(`select ${columns} from market_feeds where source = ?`, source)

export interface FeedStateWithRejects extends FeedState {
  /** Records that the feed shows and that cannot be stored (rejects.ts). */
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
  sweep: 0,
  startedMs: 0,
  markMs: null,
  reachedMs: null,
  fullAtMs: null,
  doneAtMs: null,
  asOfMs: null,
  absent: 0,
  holder: '',
  heldUntilMs: 0,
})

export async function storeFeedState(tx: StateWriter, feedState: FeedState): Promise<void> {
  const { source, pass, cursor, page, sweep, startedMs, markMs, reachedMs, fullAtMs, doneAtMs, asOfMs, absent } =
    feedState
  await tx.run(
    `insert into market_feeds (source, pass, cursor, page, sweep, started_ms, mark_ms, reached_ms, full_at_ms,
       done_at_ms, as_of_ms, absent, holder, held_until_ms) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     on conflict (source) do update set pass = excluded.pass, cursor = excluded.cursor, page = excluded.page,
       sweep = excluded.sweep, started_ms = excluded.started_ms, mark_ms = excluded.mark_ms,
       reached_ms = excluded.reached_ms, full_at_ms = excluded.full_at_ms, done_at_ms = excluded.done_at_ms,
       as_of_ms = excluded.as_of_ms, absent = excluded.absent, holder = excluded.holder, held_until_ms = excluded.held_until_ms`,
    source,
    pass,
    cursor,
    page,
    sweep,
    startedMs,
    markMs,
    reachedMs,
    fullAtMs,
    doneAtMs,
    asOfMs,
    absent,
    feedState.holder,
    feedState.heldUntilMs,
  )
}

const newer = (one: number | null, other: number | undefined): number | null =>
  other === undefined ? one : one === null ? other : Math.max(one, other)

/** After a page that is not the last. */
export const afterPage = (feedState: FeedState, cursor: string, newestMs: number | undefined): FeedState => ({
  ...feedState,
  cursor,
  page: feedState.page + 1,
  reachedMs: newer(feedState.reachedMs, newestMs),
})

/**
 * After the last page. A pass that left too many markets out proves nothing: answers rest on the one before it, and a full
 * pass is due again at once.
 */
export function afterLastPage(feedState: FeedState, newestMs: number | undefined, nowMs: number): FeedState {
  const reachedMs = newer(feedState.reachedMs, newestMs)
  const safeMs = reachedMs === null ? undefined : Math.min(reachedMs, feedState.startedMs)
  const isTrusted = feedState.absent === 0
  return {
    ...feedState,
    cursor: '',
    page: 0,
    markMs: newer(feedState.markMs, safeMs),
    reachedMs: null,
    fullAtMs: feedState.pass === 'full' && isTrusted ? nowMs : feedState.fullAtMs,
    doneAtMs: nowMs,
    asOfMs: isTrusted ? feedState.startedMs : feedState.asOfMs,
  }
}

export interface FeedProblem {
  readonly message: string
  readonly todo: string
}

/** What makes a feed that is read regularly incomplete. */
export function findFeedProblem({
  absent,
  rejected,
}: Pick<FeedStateWithRejects, 'absent' | 'rejected'>): FeedProblem | undefined {
  if (absent > 0) {
    const message = `the last full pass left out ${absent} markets, more than vanishShareMax allows, so none is marked as vanished`
    return {
      message,
      todo: 'check what the feed returns; if these markets are really gone, set vanishShareMax: 1 for it',
    }
  }
  if (rejected === 0) return undefined
  const message = `${rejected} ${rejected === 1 ? 'record has' : 'records have'} no id or no slug and cannot be stored`
  return {
    message,
    todo: 'list them with: tetrad markets rejects; rename fields with markets.feeds[].fields if they moved',
  }
}
