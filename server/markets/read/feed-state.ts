// How far a feed has been read: one row per feed, updated in the transaction that writes the page.
//
// 1. One reader at a time: a reader locks the feed for a limited time and renews the lock with each page. A page of a
//    reader that has lost the lock is not written.
// 2. An interrupted pass continues with its next page.
// 3. Everything that the source changed before `readUntilMs` has been read. It is a time of the source, and never later
//    than the start of the pass, because pages that were read early may have changed since.
import { measurePasses, type StreamPasses } from '#shared/stream-passes.ts'
import type { StateReader } from '#storage/state.ts'

/** A full pass reads everything that the source lists, a recent pass what has changed since the last one. */
export type Pass = 'full' | 'recent'

/**
 * - `end`: the source says so, or everything before it is known from the last pass
 * - `last page repeats`: the source returned its last page again, as some do beyond the end
 * - `page repeats`: the page had no record that was new in this pass, so more records may be missing
 */
export type PassEnd = 'end' | 'last page repeats' | 'page repeats'

/** A feed that has not been read. */
export const newFeedState = (source: string) => ({
  source,
  pass: 'full' as Pass,
  /** Empty: the first page. */
  cursor: '',
  /** Pages read in this pass; 0: not started. */
  page: 0,
  /** Different records read in this pass. */
  records: 0,
  fullPass: 0,
  startedMs: 0,
  readUntilMs: null as number | null,
  newestSeenMs: null as number | null,
  fullAtMs: null as number | null,
  doneAtMs: null as number | null,
  /** Pages and records of the last finished pass, and why it ended. */
  donePages: 0,
  doneRecords: 0,
  passEnd: 'end' as PassEnd,
  /** Start of the last finished pass: everything that the source listed by then has been read. */
  asOfMs: null as number | null,
  /** Markets missing from the last full pass, if too many to mark as vanished; otherwise 0. */
  absent: 0,
  holder: '',
  heldUntilMs: 0,
})

export type FeedState = Readonly<ReturnType<typeof newFeedState>>

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

/** `full_pass as "fullPass"`, and so on. */
export const toColumn = (field: string): string => field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
const columns = Object.keys(newFeedState(''))
  .map((field) => `${toColumn(field)} as "${field}"`)
  .join(', ')

/** A pass in the future is not recent: the clock was wrong, or is. */
export const isReadRecently = ({ doneAtMs }: Pick<FeedState, 'doneAtMs'>, staleMs: number, nowMs: number): boolean =>
  doneAtMs !== null && Math.abs(nowMs - doneAtMs) <= staleMs

/** How long a pass takes. An interrupted pass counts from its first page, because that is how old its first records are. */
export function measureFeedPasses(
  { startedMs, doneAtMs, asOfMs, page }: FeedState,
  everyMs: number,
  nowMs: number,
): StreamPasses {
  const lastMs = doneAtMs === null || asOfMs === null ? 0 : doneAtMs - asOfMs
  return measurePasses(Math.max(lastMs, page > 0 ? nowMs - startedMs : 0), everyMs)
}

/** `12 pages with 1150 records` */
export const sizeText = (pages: number, records: number): string =>
  `${pages} ${pages === 1 ? 'page' : 'pages'} with ${records} ${records === 1 ? 'record' : 'records'}`

/** Why a feed is incomplete although it is read regularly. */
export function findFeedProblem(
  feedState: Pick<FeedStateWithRejects, 'absent' | 'rejected' | 'passEnd' | 'donePages' | 'doneRecords'>,
) {
  const { absent, rejected, passEnd, donePages, doneRecords } = feedState
  if (passEnd === 'page repeats') {
    return {
      message: `the last pass ended at a page that repeats earlier records, after ${sizeText(donePages, doneRecords)}; it does not count as complete`,
      todo: 'check paging of the feed: the source may ignore the parameter of the offset or cursor; if it has no pages, set paging.kind: none',
    }
  }
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
