// How markets arrive from HTTP feeds: pass after pass, page after page, politely. A pass is full (everything) or recent
// (what changed since the last one). The cursor moves in the transaction that writes the last of a page (standing.ts), so
// a stop at any moment loses nothing and repeats at most a page; what is written twice is there once (records.ts).
import type { MarketFeed } from '#core/settings/markets.ts'
import { nextTurn } from '#io/clock.ts'
import { cleanUrl, FetchError, fetchJson } from '#io/fetch.ts'
import type { StateWriter } from '#store/state.ts'
import type { MarketsContext } from './context.ts'
import { decompose, Renames } from './decompose.ts'
import { endOf, hasRecent, newIn, type Page, type Pass, pageUrl, readPage } from './feed.ts'
import { settle } from './rebuild.ts'
import { type PutReport, putMarkets, type Reject } from './records.ts'
import type { MarketRecord } from './refine.ts'
import { dropStored, dropUnseen, keepRejects } from './rejects.ts'
import { countAbsent, markVanished, sight } from './sightings.ts'
import { finished, moved, newStanding, putStanding, type Standing, standingOf } from './standing.ts'

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
export class FeedHeld extends Error {
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
  let standing = await begin(context, feed, options)
  const renames = new Renames(feed.fields)
  const total = {
    pass: standing.pass,
    pages: 0,
    records: 0,
    changed: 0,
    written: 0,
    rejected: 0,
    vanished: 0,
    absent: 0,
  }
  const sinceMs = standing.markMs === null ? undefined : standing.markMs - feed.recent.overlapMs
  const pace = paceOf(context, feed)
  let before: ReadonlySet<string> = new Set()
  try {
    for (;;) {
      await pace(signal)
      signal.throwIfAborted()
      const page = await fetchPage(context, feed, standing, sinceMs, signal)
      const last = isLast(feed, standing, page, sinceMs)
      if (!last && standing.page + 1 >= feed.pagesMax) throw new Error(`more than ${feed.pagesMax} pages; see pagesMax`)
      const found = newIn(feed, page, before)
      before = endOf(feed, page)
      const wrote = await writePage(context, feed, renames, standing, { ...page, found, last })
      standing = wrote.standing
      total.pages += 1
      total.records += found.length
      total.changed += wrote.changed
      total.written += wrote.written
      total.rejected += wrote.rejected
      total.vanished += wrote.vanished
      if (total.pass === 'full') total.absent = standing.absent
      onPage?.({ ...total })
      if (last) return total
    }
  } finally {
    // The first pass brings everything and is served nowhere yet: its documents are written once, at its end.
    if (total.pass === 'full') await settle(context.state, () => context.clock.now(), signal)
    await release(context, feed.id, options.holder)
  }
}

/** Takes hold of the feed and decides which pass this is. */
function begin(context: MarketsContext, feed: MarketFeed, { holder, takeOver, full }: PassOptions): Promise<Standing> {
  const nowMs = context.clock.now()
  return context.state.write(async (tx) => {
    const known = (await standingOf(tx, feed.id)) ?? newStanding(feed.id)
    const held = known.holder !== '' && known.holder !== holder && known.heldUntilMs > nowMs
    if (held && !takeOver) throw new FeedHeld(feed.id, known.heldUntilMs)
    const hold = { holder, heldUntilMs: nowMs + holdMs(feed) }
    const underWay = known.page > 0 && (known.pass === 'full' || !full)
    const standing = underWay ? { ...known, ...hold } : { ...known, ...hold, ...newPass(feed, known, nowMs, full) }
    await putStanding(tx, standing)
    return standing
  })
}

function newPass(feed: MarketFeed, known: Standing, nowMs: number, full = false) {
  const { sweep, fullAtMs, markMs, startedMs } = known
  const due = full || fullAtMs === null || nowMs - fullAtMs >= feed.fullEveryMs || markMs === null || !hasRecent(feed)
  const pass: Pass = due ? 'full' : 'recent'
  // One that was cut off on its first page is begun again; it does not count as another in which a market was missing.
  const again = known.pass === 'full' && startedMs > (fullAtMs ?? 0)
  return { pass, cursor: '', page: 0, startedMs: nowMs, reachedMs: null, sweep: due && !again ? sweep + 1 : sweep }
}

/** Longer than the longest a page can take with all its tries. */
const holdMs = (feed: MarketFeed): number => triesMax * (feed.timeoutMs + longestWaitMs) + 1000 / feed.perSecond

/** Lets somebody else read; what goes wrong here ends by itself when the time is up. */
async function release(context: MarketsContext, source: string, holder: string): Promise<void> {
  await context.state
    .write((tx) => tx.run("update market_feeds set holder = '' where source = ? and holder = ?", source, holder))
    .catch(() => {})
}

function isLast(feed: MarketFeed, { pass }: Standing, { next, oldestMs }: Page, sinceMs: number | undefined): boolean {
  if (next === undefined) return true
  const { since, newestFirst } = feed.recent
  if (pass !== 'recent' || !newestFirst || since !== '' || sinceMs === undefined) return false
  return oldestMs !== undefined && oldestMs < sinceMs
}

/** Waits so long that requests keep to the feed's rate. */
function paceOf(context: MarketsContext, { perSecond }: MarketFeed): (signal: AbortSignal) => Promise<void> {
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
  { pass, cursor }: Standing,
  sinceMs: number | undefined,
  signal: AbortSignal,
): Promise<Page> {
  const { timeoutMs, pageBytesMax: bytesMax } = feed
  const url = pageUrl(feed, pass, cursor, sinceMs)
  for (let tries = 1; ; tries++) {
    try {
      const headers = { accept: 'application/json' }
      return readPage(await fetchJson(url, { timeoutMs, bytesMax, signal, headers }), feed, cursor)
    } catch (error) {
      if (signal.aborted || tries >= triesMax || !mayPass(error)) throw error
      const asked = error instanceof FetchError ? (error.retryAfterMs ?? 0) : 0
      const [byte = 0] = context.random.bytes(1)
      const waitMs = Math.max(asked, firstWaitMs * 2 ** (tries - 1) * (1 + byte / 512))
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
function mayPass(error: unknown): boolean {
  if (!(error instanceof FetchError)) return true
  if (error.failure === 'status') return error.status === 408 || error.status === 429 || (error.status ?? 0) >= 500
  return error.failure === 'network' || error.failure === 'timeout' || error.failure === 'text'
}

interface FoundPage extends Page {
  readonly found: ReturnType<typeof newIn>
  readonly last: boolean
}

/** Records in one transaction, about: whoever else writes waits for it. A record of the source is never taken apart. */
const partRecords = 200

/** The records of a page in parts, at least one. */
async function partsOf(feed: MarketFeed, renames: Renames, where: string, { found }: FoundPage) {
  let part: MarketRecord[] = []
  const parts = [part]
  for (const [at, value] of found) {
    if (part.length >= partRecords) {
      part = []
      parts.push(part)
    }
    for (const record of decompose(value, feed.record, renames, `${where} record ${at + 1}`)) part.push(record)
    await nextTurn()
  }
  return parts
}

/** The page and what it says about presence, part by part. What is counted and the cursor come with the last. */
async function writePage(
  context: MarketsContext,
  feed: MarketFeed,
  renames: Renames,
  standing: Standing,
  page: FoundPage,
) {
  const parts = await partsOf(feed, renames, `${cleanUrl(feed.url)} page ${standing.page + 1}`, page)
  const total = { changed: 0, written: 0 }
  const rejects: Reject[] = []
  for (const [at, records] of parts.entries()) {
    const isLast = at === parts.length - 1
    const wrote = await context.state.write(async (tx) => {
      const nowMs = context.clock.now()
      const report = await writePart(tx, feed, standing, records, nowMs)
      if (!isLast) return { report }
      await keepRejects(tx, feed.id, [...rejects, ...report.rejects], nowMs)
      return { report, end: await turnPage(tx, context, feed, standing, page, nowMs) }
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
  standing: Standing,
  records: readonly MarketRecord[],
  nowMs: number,
): Promise<PutReport> {
  const now = await standingOf(tx, feed.id)
  if (now?.holder !== standing.holder) throw new FeedHeld(feed.id, now?.heldUntilMs ?? 0)
  const report = await putMarkets(tx, records, nowMs, { source: feed.id, later: standing.fullAtMs === null })
  const rejected = new Set(report.rejects.map(({ kind, id }) => `${kind}/${id}`))
  await dropStored(
    tx,
    feed.id,
    records.filter(({ kind, id }) => id !== '' && !rejected.has(`${kind}/${id}`)),
  )
  const seen = records.filter(({ kind, id }) => kind === 'market' && id !== '').map(({ id }) => id)
  await sight(tx, feed.id, seen, standing.sweep, nowMs)
  return report
}

/** The cursor after the page; after a full pass also what it did not show. */
async function turnPage(
  tx: StateWriter,
  context: MarketsContext,
  feed: MarketFeed,
  standing: Standing,
  { last, next, newestMs }: FoundPage,
  nowMs: number,
) {
  const held = { ...standing, heldUntilMs: nowMs + holdMs(feed) }
  if (!last || standing.pass !== 'full') {
    const after = last ? finished(held, newestMs, nowMs) : moved(held, next ?? '', newestMs)
    await putStanding(tx, after)
    return { standing: after, vanished: 0 }
  }
  const absent = await countAbsent(tx, feed.id, standing.sweep, feed.vanishShareMax)
  const after = finished({ ...held, absent }, newestMs, nowMs)
  await putStanding(tx, after)
  if (absent > 0) return { standing: after, vanished: 0 }
  await dropUnseen(tx, feed.id, standing.startedMs)
  const others = context.settings.markets.feeds.map(({ id }) => id).filter((id) => id !== feed.id)
  const vanished = await markVanished(tx, feed.id, others, standing.sweep, feed.vanishAfter, nowMs)
  return { standing: after, vanished: vanished.length }
}
