// Reads markets from an HTTP feed, page by page, at a limited rate. A full pass reads everything, a recent pass what has
// changed since the last pass. The cursor moves after all parts of a page have been written (feed-state.ts), so a stop
// loses nothing and repeats at most one page. Writing a record twice changes nothing (put-markets.ts).
import type { MarketFeed } from '#runtime/settings/markets.ts'
import type { MarketsContext } from '../context.ts'
import { Renames } from '../records/decompose.ts'
import { writeDeferred } from '../records/rebuild.ts'
import { FeedLocked, isLocked, lockMs } from './feed-lock.ts'
import {
  changedRecordsIn,
  continuesPage,
  type FeedPage,
  hasRecent,
  isPartOf,
  mergePages,
  overlapKeys,
  overlapOf,
  type Pass,
  pageUrl,
} from './feed-page.ts'
import { type FeedState, newFeedState, type PassEnd, readFeedState, storeFeedState } from './feed-state.ts'
import { createPacer, fetchPage } from './fetch-page.ts'
import { parsePage } from './parse-page.ts'
import { SeenRecords } from './seen-records.ts'
import { writePage } from './write-page.ts'

export type PassReport = Readonly<ReturnType<typeof newPassReport>>

const newPassReport = (pass: Pass) => ({
  pass,
  pages: 0,
  /** Records in the overlap of two pages count once. */
  records: 0,
  changed: 0,
  written: 0,
  rejected: 0,
  vanished: 0,
  /** Markets missing from a full pass, if too many to mark as vanished; otherwise 0. */
  absent: 0,
  end: 'end' as PassEnd,
})

/** What the reader knows of the pass so far. After an interruption it begins anew. */
interface PassProgress {
  /** Start of a recent pass. */
  readonly sinceMs: number | undefined
  readonly seen: SeenRecords
  previous: FeedPage | undefined
}

export interface PassOptions {
  /** Owner of the lock; every reader has its own. */
  readonly holder: string
  /** Takes the lock from another reader, whose next write is then refused. */
  readonly takeOver?: boolean
  /** Do a full pass even if a recent one is due. */
  readonly full?: boolean
  readonly signal: AbortSignal
  readonly onPage?: (report: PassReport) => void
}

/** Reads one pass over a feed, or the rest of an interrupted one. */
export async function readFeed(context: MarketsContext, feed: MarketFeed, options: PassOptions): Promise<PassReport> {
  const { signal, onPage } = options
  let feedState = await lockFeed(context, feed, options)
  const renames = new Renames(feed.fields)
  const total = newPassReport(feedState.pass)
  const progress: PassProgress = {
    sinceMs: feedState.readUntilMs === null ? undefined : feedState.readUntilMs - feed.recent.overlapMs,
    seen: new SeenRecords(feed),
    previous: undefined,
  }
  const pace = createPacer(context, feed)
  let before: ReadonlySet<string> = new Set()
  try {
    for (;;) {
      const fetchOnce = async () => {
        await pace(signal)
        signal.throwIfAborted()
        const { pass, cursor } = feedState
        const parse = async (bytes: Uint8Array) => parsePage(bytes, feed, cursor)
        return fetchPage(context, feed, pageUrl(feed, pass, cursor, progress.sinceMs), parse, signal)
      }
      const endOf = (page: FeedPage) => findPassEnd(feed, feedState, page, progress)
      const isExpected = (page: FeedPage) => endOf(page) === undefined && continuesPage(feed, page, progress.previous)
      const page = await fetchTwiceIfNeeded(fetchOnce, isExpected)
      const end = endOf(page)
      if (end === undefined && feedState.page + 1 >= feed.pagesMax)
        throw new Error(`the feed has more than ${feed.pagesMax} pages; increase pagesMax if that is correct`)
      const changedRecords = changedRecordsIn(feed, page, before)
      const newCount = progress.seen.add(page.records)
      before = overlapKeys(feed, page)
      progress.previous = page
      const written = await writePage(
        context,
        feed,
        renames,
        feedState,
        { ...page, changedRecords, newCount, end },
        options,
      )
      feedState = written.feedState
      total.pages += 1
      total.records += newCount
      total.changed += written.changed
      total.written += written.written
      total.rejected += written.rejected
      total.vanished += written.vanished
      if (total.pass === 'full') total.absent = feedState.absent
      if (end !== undefined) total.end = end
      onPage?.({ ...total })
      if (end !== undefined) return total
    }
  } finally {
    // The first pass writes its documents once, at its end.
    if (total.pass === 'full') await writeDeferred(context.ingest, () => context.clock.now(), options)
    await releaseFeed(context, feed.id, options.holder)
  }
}

/**
 * A page that ends the pass, or does not continue the previous one, is requested twice: a single wrong answer must not
 * end a pass or leave records out.
 */
async function fetchTwiceIfNeeded(
  fetchOnce: () => Promise<FeedPage>,
  isExpected: (page: FeedPage) => boolean,
): Promise<FeedPage> {
  const page = await fetchOnce()
  if (isExpected(page)) return page
  const again = await fetchOnce()
  return isExpected(again) ? again : mergePages(page, again)
}

/** Locks the feed and decides whether the pass is full or recent. */
function lockFeed(
  context: MarketsContext,
  feed: MarketFeed,
  { holder, takeOver, full }: PassOptions,
): Promise<FeedState> {
  const nowMs = context.clock.now()
  return context.ingest.write(
    async (tx) => {
      const known = (await readFeedState(tx, feed.id)) ?? newFeedState(feed.id)
      if (known.holder !== holder && isLocked(feed, known, nowMs) && !takeOver) throw new FeedLocked(feed.id)
      const lock = { holder, heldUntilMs: nowMs + lockMs(feed) }
      const isUnfinished = known.page > 0 && (known.pass === 'full' || !full)
      const feedState = { ...known, ...lock, ...(isUnfinished ? {} : startPass(feed, known, nowMs, full)) }
      await storeFeedState(tx, feedState)
      return feedState
    },
    { lock: 'markets' },
  )
}

function startPass(feed: MarketFeed, known: FeedState, nowMs: number, full = false) {
  const { fullPass, fullAtMs, readUntilMs, startedMs, asOfMs } = known
  const isFullDue =
    full ||
    fullAtMs === null ||
    Math.abs(nowMs - fullAtMs) >= feed.fullEveryMs ||
    readUntilMs === null ||
    !hasRecent(feed)
  const pass: Pass = isFullDue ? 'full' : 'recent'
  // A full pass that stopped on its first page starts again under the same number, or it would count as one more pass
  // in which markets were missing.
  const isRestart = known.pass === 'full' && startedMs !== (asOfMs ?? 0)
  const nextFullPass = isFullDue && !isRestart ? fullPass + 1 : fullPass
  return { pass, cursor: '', page: 0, records: 0, startedMs: nowMs, newestSeenMs: null, fullPass: nextFullPass }
}

/** Ignores errors, because the lock expires anyway. */
async function releaseFeed(context: MarketsContext, source: string, holder: string): Promise<void> {
  await context.ingest
    .write((tx) => tx.run("update market_feeds set holder = '' where source = ? and holder = ?", source, holder), {
      lock: 'markets',
    })
    .catch(() => {})
}

/** Why this page ends the pass; undefined if it does not. */
function findPassEnd(
  feed: MarketFeed,
  { pass, page: pagesBefore }: FeedState,
  page: FeedPage,
  { sinceMs, seen, previous }: PassProgress,
): PassEnd | undefined {
  const { since, newestFirst } = feed.recent
  const stopsAtKnown = pass === 'recent' && newestFirst && since === ''
  if (page.next === undefined) return 'end'
  // All records must be old: one of them may be out of order, or have a wrong time.
  if (stopsAtKnown && sinceMs !== undefined && page.newestMs !== undefined && page.newestMs < sinceMs) return 'end'
  if (seen.hasNew(page.records)) return undefined
  if (page.records.length <= overlapOf(feed)) return 'end'
  // Some sources return their last page for every position beyond it. That paging works at all is known from the pages
  // before it.
  const isPreviousPage = pagesBefore >= 2 && isPartOf(feed, page, previous)
  return isPreviousPage ? 'last page repeats' : 'page repeats'
}
