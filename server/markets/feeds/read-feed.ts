// How markets arrive from HTTP feeds: pass after pass, page after page, politely. A pass is full (everything) or recent
// (what changed since the last one). The cursor moves in the transaction that writes the last of a page (standing.ts), so
// a stop at any moment loses nothing and repeats at most a page; what is written twice is there once (records.ts).

import { nextEventLoopTurn } from '#runtime/clock.ts'
import type { MarketFeed } from '#runtime/settings/markets.ts'
import { cleanUrl, FetchError, fetchJson } from '#sources/http-client.ts'
import type { StateWriter } from '#storage/state.ts'
import type { MarketsContext } from '../context.ts'
import { decompose, Renames } from '../records/decompose.ts'
import type { MarketRecord } from '../records/normalize.ts'
import { type PutReport, putMarkets, type Reject } from '../records/put-markets.ts'
import { writeDeferred } from '../records/rebuild.ts'
import { dropResolvedRejects, dropUnseenRejects, storeRejects } from '../records/rejects.ts'
import { type FeedPage, hasRecent, newRecordsIn, overlapKeys, type Pass, pageUrl, parseFeedPage } from './feed-page.ts'
import { countAbsent, markVanished, recordPresence } from './feed-presence.ts'
import { afterLastPage, afterPage, type FeedState, newFeedState, readFeedState, storeFeedState } from './feed-state.ts'

const triesMax = 4
const firstWaitMs = 1000
const longestWaitMs = 60_000

export interface PassReport {
  readonly pass: Pass
  readonly pages: number
  /** Those that pages overlap by count once. */
  readonly records: number
  readonly changed: number
  readonly written: number
  readonly rejected: number
  readonly vanished: number
  /** Markets that a full pass did not show, if they were too many to be marked as vanished; otherwise 0. */
  readonly absent: number
}

export interface PassOptions {
  /** Who reads; two readers of one feed have different names. */
  readonly holder: string
  /** Reads the feed even if somebody else does: what that one has not written yet is then refused. */
  readonly takeOver?: boolean
  /** A full pass even if a recent one would do. */
  readonly full?: boolean
  readonly signal: AbortSignal
  readonly onPage?: (report: PassReport) => void
}

/** Somebody else reads this feed. */
export class FeedLocked extends Error {
  readonly untilMs: number
  constructor(source: string, untilMs: number) {
    super(`the feed ${source} is being read by another process`)
    this.name = 'FeedHeld'
    this.untilMs = untilMs
  }
}

/** One pass over a feed, or the rest of one that was cut off. */
export async function readFeed(context: MarketsContext, feed: MarketFeed, options: PassOptions): Promise<PassReport> {
  const { signal, onPage } = options
  let feedState = await lockFeed(context, feed, options)
  const renames = new Renames(feed.fields)
  const total = {
    pass: feedState.pass,
    pages: 0,
    records: 0,
    changed: 0,
    written: 0,
    rejected: 0,
    vanished: 0,
    absent: 0,
  }
  const sinceMs = feedState.markMs === null ? undefined : feedState.markMs - feed.recent.overlapMs
  const pace = createPacer(context, feed)
  let before: ReadonlySet<string> = new Set()
  try {
    for (;;) {
      await pace(signal)
      signal.throwIfAborted()
      const page = await fetchPage(context, feed, feedState, sinceMs, signal)
      const last = isLastPage(feed, feedState, page, sinceMs)
      if (!last && feedState.page + 1 >= feed.pagesMax)
        throw new Error(`more than ${feed.pagesMax} pages; see pagesMax`)
      const found = newRecordsIn(feed, page, before)
      before = overlapKeys(feed, page)
      const written = await writePage(context, feed, renames, feedState, { ...page, found, last })
      feedState = written.standing
      total.pages += 1
      total.records += found.length
      total.changed += written.changed
      total.written += written.written
      total.rejected += written.rejected
      total.vanished += written.vanished
      if (total.pass === 'full') total.absent = feedState.absent
      onPage?.({ ...total })
      if (last) return total
    }
  } finally {
    // The first pass brings everything and is served nowhere yet: its documents are written once, at its end.
    if (total.pass === 'full') await writeDeferred(context.state, () => context.clock.now(), signal)
    await releaseFeed(context, feed.id, options.holder)
  }
}

/** Takes hold of the feed and decides which pass this is. */
function lockFeed(
  context: MarketsContext,
  feed: MarketFeed,
  { holder, takeOver, full }: PassOptions,
): Promise<FeedState> {
  const nowMs = context.clock.now()
  return context.state.write(async (tx) => {
    const known = (await readFeedState(tx, feed.id)) ?? newFeedState(feed.id)
    const isLocked = known.holder !== '' && known.holder !== holder && known.heldUntilMs > nowMs
    if (isLocked && !takeOver) throw new FeedLocked(feed.id, known.heldUntilMs)
    const lock = { holder, heldUntilMs: nowMs + lockMs(feed) }
    const underWay = known.page > 0 && (known.pass === 'full' || !full)
    const feedState = underWay ? { ...known, ...lock } : { ...known, ...lock, ...startPass(feed, known, nowMs, full) }
    await storeFeedState(tx, feedState)
    return feedState
  })
}

function startPass(feed: MarketFeed, known: FeedState, nowMs: number, full = false) {
  const { sweep, fullAtMs, markMs, startedMs } = known
  const due = full || fullAtMs === null || nowMs - fullAtMs >= feed.fullEveryMs || markMs === null || !hasRecent(feed)
  const pass: Pass = due ? 'full' : 'recent'
  // One that was cut off on its first page is begun again; it does not count as another in which a market was missing.
  const again = known.pass === 'full' && startedMs > (fullAtMs ?? 0)
  return { pass, cursor: '', page: 0, startedMs: nowMs, reachedMs: null, sweep: due && !again ? sweep + 1 : sweep }
}

/** Longer than the longest a page can take with all its tries. */
const lockMs = (feed: MarketFeed): number => triesMax * (feed.timeoutMs + longestWaitMs) + 1000 / feed.perSecond

/** Lets somebody else read; what goes wrong here ends by itself when the time is up. */
async function releaseFeed(context: MarketsContext, source: string, holder: string): Promise<void> {
  await context.state
    .write((tx) => tx.run("update market_feeds set holder = '' where source = ? and holder = ?", source, holder))
    .catch(() => {})
}

function isLastPage(
  feed: MarketFeed,
  { pass }: FeedState,
  { next, oldestMs }: FeedPage,
  sinceMs: number | undefined,
): boolean {
  if (next === undefined) return true
  const { since, newestFirst } = feed.recent
  if (pass !== 'recent' || !newestFirst || since !== '' || sinceMs === undefined) return false
  return oldestMs !== undefined && oldestMs < sinceMs
}

/** Waits so long that requests keep to the feed's rate. */
function createPacer(context: MarketsContext, { perSecond }: MarketFeed): (signal: AbortSignal) => Promise<void> {
  let lastMs = Number.NEGATIVE_INFINITY
  return async (signal) => {
    const waitMs = lastMs + 1000 / perSecond - context.clock.monotonicMs()
    if (waitMs > 0) await context.clock.sleep(waitMs, signal)
    lastMs = context.clock.monotonicMs()
  }
}

async function fetchPage(
  context: MarketsContext,
  feed: MarketFeed,
  { pass, cursor }: FeedState,
  sinceMs: number | undefined,
  signal: AbortSignal,
): Promise<FeedPage> {
  const { timeoutMs, pageBytesMax: bytesMax } = feed
  const url = pageUrl(feed, pass, cursor, sinceMs)
  for (let tries = 1; ; tries++) {
    try {
      const headers = { accept: 'application/json' }
      return parseFeedPage(await fetchJson(url, { timeoutMs, bytesMax, signal, headers }), feed, cursor)
    } catch (error) {
      if (signal.aborted || tries >= triesMax || !isRetryable(error)) throw error
      const retryAfterMs = error instanceof FetchError ? (error.retryAfterMs ?? 0) : 0
      const [byte = 0] = context.random.bytes(1)
      const waitMs = Math.max(retryAfterMs, firstWaitMs * 2 ** (tries - 1) * (1 + byte / 512))
      context.log.debug(
        { source: feed.id, tries, waitMs, reason: (error as Error).message },
        'a page is asked for again',
      )
      await context.clock.sleep(Math.min(waitMs, longestWaitMs), signal)
      signal.throwIfAborted()
    }
  }
}

/** Whether the same request may succeed a moment later. */
function isRetryable(error: unknown): boolean {
  if (!(error instanceof FetchError)) return true
  if (error.failure === 'status') return error.status === 408 || error.status === 429 || (error.status ?? 0) >= 500
  return error.failure === 'network' || error.failure === 'timeout' || error.failure === 'text'
}

interface PageOfPass extends FeedPage {
  readonly found: ReturnType<typeof newRecordsIn>
  readonly last: boolean
}

/** Records in one transaction, about: whoever else writes waits for it. A record of the source is never taken apart. */
const partRecords = 200

/** The records of a page in parts, at least one. */
async function splitPage(feed: MarketFeed, renames: Renames, where: string, { found }: PageOfPass) {
  let part: MarketRecord[] = []
  const parts = [part]
  for (const [at, value] of found) {
    if (part.length >= partRecords) {
      part = []
      parts.push(part)
    }
    for (const record of decompose(value, feed.record, renames, `${where} record ${at + 1}`)) part.push(record)
    await nextEventLoopTurn()
  }
  return parts
}

/** The page and what it says about presence, part by part. What is counted and the cursor come with the last. */
async function writePage(
  context: MarketsContext,
  feed: MarketFeed,
  renames: Renames,
  feedState: FeedState,
  page: PageOfPass,
) {
  const parts = await splitPage(feed, renames, `${cleanUrl(feed.url)} page ${feedState.page + 1}`, page)
  const total = { changed: 0, written: 0 }
  const rejects: Reject[] = []
  for (const [at, records] of parts.entries()) {
    const isLast = at === parts.length - 1
    const wrote = await context.state.write(async (tx) => {
      const nowMs = context.clock.now()
      const report = await writePart(tx, feed, feedState, records, nowMs)
      if (!isLast) return { report }
      await storeRejects(tx, feed.id, [...rejects, ...report.rejects], nowMs)
      return { report, end: await advanceFeed(tx, context, feed, feedState, page, nowMs) }
    })
    total.changed += wrote.report.changed
    total.written += wrote.report.written
    rejects.push(...wrote.report.rejects)
    if (wrote.end) return { ...total, ...wrote.end, rejected: rejects.length }
  }
  throw new Error('a page without a last part')
}

async function writePart(
  tx: StateWriter,
  feed: MarketFeed,
  feedState: FeedState,
  records: readonly MarketRecord[],
  nowMs: number,
): Promise<PutReport> {
  const now = await readFeedState(tx, feed.id)
  if (now?.holder !== feedState.holder) throw new FeedLocked(feed.id, now?.heldUntilMs ?? 0)
  const report = await putMarkets(tx, records, nowMs, { source: feed.id, isDeferred: feedState.fullAtMs === null })
  const rejected = new Set(report.rejects.map(({ kind, id }) => `${kind}/${id}`))
  await dropResolvedRejects(
    tx,
    feed.id,
    records.filter(({ kind, id }) => id !== '' && !rejected.has(`${kind}/${id}`)),
  )
  const seen = records.filter(({ kind, id }) => kind === 'market' && id !== '').map(({ id }) => id)
  await recordPresence(tx, feed.id, seen, feedState.sweep, nowMs)
  return report
}

/** The cursor after the page; after a full pass also what it did not show. */
async function advanceFeed(
  tx: StateWriter,
  context: MarketsContext,
  feed: MarketFeed,
  feedState: FeedState,
  { last, next, newestMs }: PageOfPass,
  nowMs: number,
) {
  const held = { ...feedState, heldUntilMs: nowMs + lockMs(feed) }
  if (!last || feedState.pass !== 'full') {
    const after = last ? afterLastPage(held, newestMs, nowMs) : afterPage(held, next ?? '', newestMs)
    await storeFeedState(tx, after)
    return { standing: after, vanished: 0 }
  }
  const absent = await countAbsent(tx, feed.id, feedState.sweep, feed.vanishShareMax)
  const after = afterLastPage({ ...held, absent }, newestMs, nowMs)
  await storeFeedState(tx, after)
  if (absent > 0) return { standing: after, vanished: 0 }
  await dropUnseenRejects(tx, feed.id, feedState.startedMs)
  const others = context.settings.markets.feeds.map(({ id }) => id).filter((id) => id !== feed.id)
  const vanished = await markVanished(tx, feed.id, others, feedState.sweep, feed.vanishAfter, nowMs)
  return { standing: after, vanished: vanished.length }
}
