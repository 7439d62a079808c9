// The background loops of the markets group: reads every feed at its interval. Also reports readiness: whether every feed has been read completely and recently.
import { formatAgeOf } from '#core/age.ts'
import { errorMessage } from '#core/error-message.ts'
import type { Finding } from '#http/health.ts'
import { logOutcome, type PollOutcome, poll } from '#ingest/poll.ts'
import type { MarketFeed } from '#runtime/settings/markets.ts'
import { describePasses } from '#shared/stream-passes.ts'
import type { MarketsContext } from '../context.ts'
import { findFeedProblem, isReadRecently, measureFeedPasses, readFeedStates, sizeText } from '../read/feed-state.ts'
import { type PassReport, readFeed } from './read-feed.ts'

/** A pass over a large source takes hours. Each request has its own timeout. */
const passMaxMs = 86_400_000
const backoffMaxMs = 300_000

export type FeedReport = { readonly source: string } /** After each page, with the totals of the pass so far. */ & (
  | { readonly is: 'page'; readonly report: PassReport }
  | { readonly is: 'done'; readonly report: PassReport }
  | { readonly is: 'failed'; readonly failures: number; readonly reason: string }
)

/** Reads every feed until the signal aborts; resolves when all have stopped. */
export async function startMarkets(
  context: MarketsContext,
  signal: AbortSignal,
  onReport: (report: FeedReport) => void = () => {},
): Promise<void> {
  const holder = context.random.uuid()
  const loops = context.settings.markets.feeds.map((feed) => followFeed(context, feed, holder, signal, onReport))
  await Promise.all(loops)
}

async function followFeed(
  context: MarketsContext,
  feed: MarketFeed,
  holder: string,
  signal: AbortSignal,
  onReport: (report: FeedReport) => void,
): Promise<void> {
  let running: Promise<unknown> = Promise.resolve()
  // One server owns a data folder, so the previous owner of the lock is gone, or is a command that can be repeated.
  let takeOver = true
  await poll(
    context,
    {
      everyMs: feed.everyMs,
      timeoutMs: passMaxMs,
      backoffMaxMs: Math.max(feed.everyMs, backoffMaxMs),
      work: (stop) => {
        const onPage = (report: PassReport) => onReport({ source: feed.id, is: 'page', report })
        const pass = readFeed(context, feed, { holder, takeOver, signal: stop, onPage })
        takeOver = false
        running = pass.catch(() => {})
        return pass
      },
      report: (outcome) => onReport(toFeedReport(context, feed, outcome)),
    },
    signal,
  )
  await running
}

function toFeedReport(context: MarketsContext, { id }: MarketFeed, outcome: PollOutcome<PassReport>): FeedReport {
  const { log } = context
  const texts = { failed: 'feed could not be read', recovered: 'feed is readable again' }
  logOutcome(context, outcome, { source: id }, texts)
  if (outcome.is === 'failed')
    return { source: id, is: 'failed', failures: outcome.failures, reason: errorMessage(outcome.error) }
  const report = outcome.value
  if (report.rejected > 0) log.warn({ source: id, rejected: report.rejected }, 'market records rejected')
  if (report.absent > 0) {
    log.warn({ source: id, absent: report.absent }, 'full pass omitted too many markets; none marked as vanished')
  }
  if (report.end === 'page repeats') {
    const { pages, records } = report
    log.warn({ source: id, pages, records }, 'feed pass ended at a page that repeats; it does not count as complete')
  }
  log[report.pass === 'full' ? 'info' : 'debug']({ source: id, ...report }, 'feed pass finished')
  return { source: id, is: 'done', report }
}

/**
 * One finding per feed. Ok if a full pass has finished, no markets are unexpectedly missing, and the feed is neither stale
 * nor behind. A server is not ready only before the first full pass, when its neighbours may have what it lacks.
 */
export async function marketFindings(
  context: Pick<MarketsContext, 'ingest' | 'settings' | 'clock'>,
): Promise<readonly Finding[]> {
  const { markets, groups } = context.settings
  if (!groups.markets.enabled || markets.feeds.length === 0) return []
  const feedStates = new Map((await readFeedStates(context.ingest)).map((one) => [one.source, one]))
  return markets.feeds.map(({ id, staleMs, everyMs }) => {
    const feedState = feedStates.get(id)
    const name = `market feed ${id}`
    if (!feedState || feedState.fullAtMs === null || feedState.doneAtMs === null) {
      const problem = feedState && findFeedProblem(feedState)
      const size = sizeText(feedState?.page ?? 0, feedState?.records ?? 0)
      return { name, ok: false, message: problem?.message ?? `first full pass in progress, ${size}` }
    }
    const nowMs = context.clock.now()
    const { doneAtMs, donePages, doneRecords, passEnd, page, records } = feedState
    const problem = findFeedProblem(feedState)
    const passes = measureFeedPasses(feedState, everyMs, nowMs)
    const isBehind = !problem && passes.behind > 0
    const message = [
      ...(isBehind ? [describePasses(passes)] : []),
      `last pass ${formatAgeOf(nowMs - doneAtMs)}, ${sizeText(donePages, doneRecords)}`,
      ...(passEnd === 'last page repeats' ? ['its last page repeats'] : []),
      ...(page > 0 ? [`this pass ${sizeText(page, records)}`] : []),
      ...(problem ? [problem.message] : []),
    ].join('; ')
    // A rejected record concerns one market. Report it, but stay ready for all others.
    const isComplete = feedState.absent === 0 && passEnd !== 'page repeats'
    const ok = isComplete && !isBehind && isReadRecently(feedState, staleMs, nowMs)
    return { name, ok, message, required: false }
  })
}
