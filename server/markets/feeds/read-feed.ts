// Reads markets from an HTTP feed, page by page, at a limited rate. A full pass reads everything, a recent pass what has
// changed since the last pass. The cursor moves after all parts of a page have been written (feed-state.ts), so a stop
// loses nothing and repeats at most one page. Writing a record twice changes nothing (put-markets.ts).
import { createPause, type EventLoop } from '#runtime/pause-while-busy.ts'
import type { MarketFeed } from '#runtime/settings/markets.ts'
import { cleanUrl, FetchError, fetchBytes } from '#sources/http-client.ts'
import type { StateWriter } from '#storage/state.ts'
import type { MarketsContext } from '../context.ts'
import { EventLoopYielder } from '../event-loop-yielder.ts'
import { decompose, Renames } from '../records/decompose.ts'
import type { MarketRecord } from '../records/normalize.ts'
import { type PutReport, putMarkets, type Reject } from '../records/put-markets.ts'
import { writeDeferred } from '../records/rebuild.ts'
import { dropResolvedRejects, dropUnseenRejects, storeRejects } from '../records/rejects.ts'
import { documentsPerPart, WritePart } from '../records/write-parts.ts'
import {
  continuesPage,
  type FeedPage,
  hasRecent,
  mergePages,
  newRecordsIn,
  overlapKeys,
  type Pass,
  pageUrl,
} from './feed-page.ts'
import { countAbsent, markVanished, recordPresence } from './feed-presence.ts'
import { afterLastPage, afterPage, type FeedState, newFeedState, readFeedState, storeFeedState } from './feed-state.ts'
import { PageParser } from './parse-page.ts'

const triesMax = 4
const firstWaitMs = 1000
const longestWaitMs = 60_000

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
})

export interface PassOptions {
  /** Owner of the lock; every reader has its own. */
  readonly holder: string
  /** Takes the lock from another reader, whose next write is then refused. */
  readonly takeOver?: boolean
  /** Do a full pass even if a recent one is due. */
  readonly full?: boolean
  readonly signal: AbortSignal
  readonly onPage?: (report: PassReport) => void
  /** Decides when to pause for requests. Default: the event loop of the process. */
  readonly eventLoop?: EventLoop
}

/** Another process reads this feed. */
export class FeedLocked extends Error {
  override readonly name = 'FeedLocked'
  constructor(source: string) {
    super(`the feed ${source} is being read by another process`)
  }
}

/** Reads one pass over a feed, or the rest of an interrupted one. */
export async function readFeed(context: MarketsContext, feed: MarketFeed, options: PassOptions): Promise<PassReport> {
  const { signal, onPage } = options
  let feedState = await lockFeed(context, feed, options)
  const renames = new Renames(feed.fields)
  const total = newPassReport(feedState.pass)
  const sinceMs = feedState.readUntilMs === null ? undefined : feedState.readUntilMs - feed.recent.overlapMs
  const pace = createPacer(context, feed)
  let before: ReadonlySet<string> = new Set()
  let previous: FeedPage | undefined
  await using parser = new PageParser()
  try {
    for (;;) {
      const fetchOnce = async () => {
        await pace(signal)
        signal.throwIfAborted()
        const { pass, cursor } = feedState
        const parse = (bytes: Uint8Array) => parser.parse(bytes, feed, cursor)
        return fetchPage(context, feed, pageUrl(feed, pass, cursor, sinceMs), parse, signal)
      }
      const isLast = (page: FeedPage) => isLastPage(feed, feedState, page, sinceMs)
      const page = await fetchTwiceIfNeeded(fetchOnce, (one) => !isLast(one) && continuesPage(feed, one, previous))
      const last = isLast(page)
      if (!last && feedState.page + 1 >= feed.pagesMax)
        throw new Error(`the feed has more than ${feed.pagesMax} pages; increase pagesMax if that is correct`)
      const newRecords = newRecordsIn(feed, page, before)
      before = overlapKeys(feed, page)
      previous = page
      const written = await writePage(context, feed, renames, feedState, { ...page, newRecords, last }, options)
      feedState = written.feedState
      total.pages += 1
      total.records += newRecords.length
      total.changed += written.changed
      total.written += written.written
      total.rejected += written.rejected
      total.vanished += written.vanished
      if (total.pass === 'full') total.absent = feedState.absent
      onPage?.({ ...total })
      if (last) return total
    }
  } finally {
    // The first pass writes its documents once, at its end.
    if (total.pass === 'full') await writeDeferred(context.state, () => context.clock.now(), options)
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
  return context.state.write(async (tx) => {
    const known = (await readFeedState(tx, feed.id)) ?? newFeedState(feed.id)
    if (known.holder !== holder && isLocked(feed, known, nowMs) && !takeOver) throw new FeedLocked(feed.id)
    const lock = { holder, heldUntilMs: nowMs + lockMs(feed) }
    const isUnfinished = known.page > 0 && (known.pass === 'full' || !full)
    const feedState = { ...known, ...lock, ...(isUnfinished ? {} : startPass(feed, known, nowMs, full)) }
    await storeFeedState(tx, feedState)
    return feedState
  })
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
  return { pass, cursor: '', page: 0, startedMs: nowMs, newestSeenMs: null, fullPass: nextFullPass }
}

/** Longer than a page can take with all its retries, requested twice. */
const lockMs = ({ timeoutMs, perSecond }: MarketFeed): number =>
  2 * (triesMax * (timeoutMs + longestWaitMs) + Math.ceil(1000 / perSecond))

/** A lock that ends later than a lock can is from a clock that was wrong, so its end says nothing. */
export const isLocked = (feed: MarketFeed, { holder, heldUntilMs }: FeedState, nowMs: number): boolean =>
  holder !== '' && heldUntilMs > nowMs && heldUntilMs <= nowMs + lockMs(feed)

/** Ignores errors, because the lock expires anyway. */
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

/** Limits requests to the feed's `perSecond`. */
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
  url: string,
  parse: (bytes: Uint8Array) => Promise<FeedPage>,
  signal: AbortSignal,
): Promise<FeedPage> {
  const { timeoutMs, pageBytesMax: bytesMax } = feed
  for (let tries = 1; ; tries++) {
    try {
      const headers = { accept: 'application/json' }
      const { bytes } = await fetchBytes(url, { timeoutMs, bytesMax, signal, headers })
      return await parse(bytes)
    } catch (error) {
      if (signal.aborted || tries >= triesMax || !isRetryable(error)) throw error
      const retryAfterMs = error instanceof FetchError ? (error.retryAfterMs ?? 0) : 0
      const [byte = 0] = context.random.bytes(1)
      const waitMs = Math.max(retryAfterMs, firstWaitMs * 2 ** (tries - 1) * (1 + byte / 512))
      context.log.debug({ source: feed.id, tries, waitMs, reason: (error as Error).message }, 'retrying page')
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
  readonly newRecords: ReturnType<typeof newRecordsIn>
  readonly last: boolean
}

/** The cost of decomposing a record, in rows read. A turn of the event loop for each record would slow down the feed. */
const decomposeSteps = 50

/** The records of a page in parts. */
async function splitPage(feed: MarketFeed, renames: Renames, location: string, { newRecords }: PageOfPass) {
  let part = new WritePart()
  const parts = [part]
  const yielder = new EventLoopYielder()
  for (const [at, value] of newRecords) {
    if (part.isFull) {
      part = new WritePart()
      parts.push(part)
    }
    part.add(decompose(value, feed.record, renames, `${location} record ${at + 1}`))
    await yielder.spend(decomposeSteps)
  }
  return parts
}

/**
 * Writes the records and presence of a page, part by part, then the documents that the parts have deferred. Rejects and
 * the cursor are written last.
 */
async function writePage(
  context: MarketsContext,
  feed: MarketFeed,
  renames: Renames,
  feedState: FeedState,
  page: PageOfPass,
  options: Pick<PassOptions, 'signal' | 'eventLoop'>,
) {
  const { state, clock } = context
  const total = { changed: 0, written: 0 }
  const rejects: Reject[] = []
  const pause = createPause(options.eventLoop)
  for (const { records } of await splitPage(feed, renames, `${cleanUrl(feed.url)} page ${feedState.page + 1}`, page)) {
    const report = await state.write((tx) => writePart(tx, feed, feedState, records, clock.now()))
    total.changed += report.changed
    total.written += report.written
    rejects.push(...report.rejects)
    await pause()
  }
  // The first pass writes them at its end.
  if (!isFirstPass(feedState)) total.written += await writeDeferred(state, () => clock.now(), options)
  const end = await state.write(async (tx) => {
    const nowMs = clock.now()
    await refuseIfTakenOver(tx, feed, feedState)
    // If the clock was set back during the pass, `dropUnseenRejects` must not take them for those of an earlier pass.
    await storeRejects(tx, feed.id, rejects, Math.max(nowMs, feedState.startedMs))
    return advanceFeed(tx, context, feed, feedState, page, nowMs)
  })
  return { ...total, ...end, rejected: rejects.length }
}

const isFirstPass = ({ fullAtMs }: FeedState): boolean => fullAtMs === null

async function refuseIfTakenOver(tx: StateWriter, feed: MarketFeed, { holder }: FeedState): Promise<void> {
  if ((await readFeedState(tx, feed.id))?.holder !== holder) throw new FeedLocked(feed.id)
}

async function writePart(
  tx: StateWriter,
  feed: MarketFeed,
  feedState: FeedState,
  records: readonly MarketRecord[],
  nowMs: number,
): Promise<PutReport> {
  await refuseIfTakenOver(tx, feed, feedState)
  const options = { source: feed.id, isDeferred: isFirstPass(feedState), documentsMax: documentsPerPart }
  const report = await putMarkets(tx, records, nowMs, options)
  const rejected = new Set(report.rejects.map(({ kind, id }) => `${kind}/${id}`))
  const stored = records.filter(({ kind, id }) => id !== '' && !rejected.has(`${kind}/${id}`))
  await dropResolvedRejects(tx, feed.id, stored)
  const seen = records.filter(({ kind, id }) => kind === 'market' && id !== '').map(({ id }) => id)
  await recordPresence(tx, feed.id, seen, feedState.fullPass, nowMs)
  return report
}

/** Stores the cursor after a page, and after a full pass also the markets that have vanished. */
async function advanceFeed(
  tx: StateWriter,
  context: MarketsContext,
  feed: MarketFeed,
  feedState: FeedState,
  { last, next, newestMs }: PageOfPass,
  nowMs: number,
) {
  const endsFullPass = last && feedState.pass === 'full'
  const absent = endsFullPass
    ? await countAbsent(tx, feed.id, feedState.fullPass, feed.vanishShareMax)
    : feedState.absent
  const renewed = { ...feedState, absent, heldUntilMs: nowMs + lockMs(feed) }
  const after = last ? afterLastPage(renewed, newestMs, nowMs) : afterPage(renewed, next ?? '', newestMs)
  await storeFeedState(tx, after)
  if (!endsFullPass || absent > 0) return { feedState: after, vanished: 0 }
  await dropUnseenRejects(tx, feed.id, feedState.startedMs)
  const others = context.settings.markets.feeds.map(({ id }) => id).filter((id) => id !== feed.id)
  const vanished = await markVanished(tx, feed.id, others, feedState.fullPass, feed.vanishAfter, nowMs)
  return { feedState: after, vanished: vanished.length }
}
