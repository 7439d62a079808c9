// How far a feed has been read: one row per feed, moved in the transaction that writes the page it speaks of.
//
// 1. One reader at a time: whoever reads a feed holds it for a while and renews that with each page. A page of a reader
//    that no longer holds it is not written.
// 2. A pass that was cut off goes on at the page it had come to.
// 3. `markMs` never runs ahead: everything the source changed before it has been read. It is taken from the source's own
//    times, and never beyond the moment the pass began, because a page read early may have changed since.
import type { StateReader, StateWriter } from '#store/state.ts'
import type { Pass } from './feed.ts'

export interface Standing {
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

export const standingOf = (reader: StateReader, source: string): Promise<Standing | undefined> =>
  reader.get<Standing>(`select ${columns} from market_feeds where source = ?`, source)

export interface FeedStanding extends Standing {
  /** Records that the feed shows and that cannot be stored (rejects.ts). */
  readonly rejected: number
}

export const allStandings = (reader: StateReader): Promise<FeedStanding[]> =>
  reader.all<FeedStanding>(
    `select ${columns}, (select count(*) from market_rejects r where r.source = f.source) as rejected
     from market_feeds f order by source`,
  )

export const newStanding = (source: string): Standing => ({
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

export async function putStanding(tx: StateWriter, standing: Standing): Promise<void> {
  const { source, pass, cursor, page, sweep, startedMs, markMs, reachedMs, fullAtMs, doneAtMs, asOfMs, absent } =
    standing
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
    standing.holder,
    standing.heldUntilMs,
  )
}

const newer = (one: number | null, other: number | undefined): number | null =>
  other === undefined ? one : one === null ? other : Math.max(one, other)

/** After a page that is not the last. */
export const moved = (standing: Standing, cursor: string, newestMs: number | undefined): Standing => ({
  ...standing,
  cursor,
  page: standing.page + 1,
  reachedMs: newer(standing.reachedMs, newestMs),
})

/**
 * After the last page. A pass that left too many markets out proves nothing: answers rest on the one before it, and a full
 * pass is due again at once.
 */
export function finished(standing: Standing, newestMs: number | undefined, nowMs: number): Standing {
  const reachedMs = newer(standing.reachedMs, newestMs)
  const safeMs = reachedMs === null ? undefined : Math.min(reachedMs, standing.startedMs)
  const isBelieved = standing.absent === 0
  return {
    ...standing,
    cursor: '',
    page: 0,
    markMs: newer(standing.markMs, safeMs),
    reachedMs: null,
    fullAtMs: standing.pass === 'full' && isBelieved ? nowMs : standing.fullAtMs,
    doneAtMs: nowMs,
    asOfMs: isBelieved ? standing.startedMs : standing.asOfMs,
  }
}

export interface FeedTrouble {
  readonly says: string
  readonly todo: string
}

/** What makes a feed that is read regularly incomplete. */
export function feedTrouble({ absent, rejected }: Pick<FeedStanding, 'absent' | 'rejected'>): FeedTrouble | undefined {
  if (absent > 0) {
    const says = `the last full pass left out ${absent} markets, more than vanishShareMax allows, so none is marked as vanished`
    return { says, todo: 'check what the feed returns; if these markets are really gone, set vanishShareMax: 1 for it' }
  }
  if (rejected === 0) return undefined
  const says = `${rejected} ${rejected === 1 ? 'record has' : 'records have'} no id or no slug and cannot be stored`
  return {
    says,
    todo: 'list them with: tetrad markets rejects; rename fields with markets.feeds[].fields if they moved',
  }
}
