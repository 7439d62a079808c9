// Writes one page of a feed: its records part by part, then rejects and cursor. After a full pass, it also marks the
// markets that have vanished.
import { nextEventLoopTurn } from '#runtime/clock.ts'
import type { MarketFeed } from '#runtime/settings/markets.ts'
import { cleanUrl } from '#sources/http-client.ts'
import type { State, StateWriter } from '#storage/state.ts'
import type { MarketsContext } from '../context.ts'
import type { FeedState } from '../read/feed-state.ts'
import { decompose, type Renames } from '../records/decompose.ts'
import type { MarketRecord } from '../records/normalize.ts'
import type { Reject } from '../write/accept-records.ts'
import { type PutReport, putMarkets } from '../write/put-markets.ts'
import { dropResolvedRejects, dropUnseenRejects, storeRejects } from '../write/rejects.ts'
import { WritePart } from '../write/write-parts.ts'
import { lockMs, refuseIfTakenOver } from './feed-lock.ts'
import { countAbsent, markVanished, recordPresence, uniteOldPresence } from './feed-presence.ts'
import { afterLastPage, afterPage, storeFeedState } from './feed-progress.ts'
import type { PageOfPass } from './page-reader.ts'

export type WrittenPage = Awaited<ReturnType<typeof writePage>>

/** The records of a page in parts. */
function splitPage(
  engine: State['engine'],
  feed: MarketFeed,
  renames: Renames,
  location: string,
  { changedRecords }: PageOfPass,
) {
  let part = new WritePart(engine)
  const parts = [part]
  for (const [at, value] of changedRecords) {
    if (part.isFull) {
      part = new WritePart(engine)
      parts.push(part)
    }
    part.add(decompose(value, feed.record, renames, `${location} record ${at + 1}`))
  }
  return parts
}

/** Writes the records and presence of a page, part by part. Rejects and the cursor are written last. */
export async function writePage(
  context: MarketsContext,
  feed: MarketFeed,
  renames: Renames,
  feedState: FeedState,
  page: PageOfPass,
) {
  const { ingest, clock } = context
  let changed = 0
  const rejects: Reject[] = []
  const location = `${cleanUrl(feed.url)} page ${feedState.page + 1}`
  for (const { records } of splitPage(ingest.engine, feed, renames, location, page)) {
    const report = await ingest.write((tx) => writePart(tx, feed, feedState, records, clock.now()), {
      lock: 'markets',
    })
    changed += report.changed
    rejects.push(...report.rejects)
    // So that signals and calls are handled between two parts.
    await nextEventLoopTurn()
  }
  const end = await ingest.write(
    async (tx) => {
      const nowMs = clock.now()
      await refuseIfTakenOver(tx, feed, feedState)
      // If the clock was set back during the pass, `dropUnseenRejects` must not take them for those of an earlier pass.
      await storeRejects(tx, feed.id, rejects, Math.max(nowMs, feedState.startedMs))
      return advanceFeed(tx, context, feed, feedState, page, nowMs)
    },
    { lock: 'markets' },
  )
  return { changed, ...end, rejected: rejects.length }
}

async function writePart(
  tx: StateWriter,
  feed: MarketFeed,
  feedState: FeedState,
  records: readonly MarketRecord[],
  nowMs: number,
): Promise<PutReport> {
  await refuseIfTakenOver(tx, feed, feedState)
  const report = await putMarkets(tx, records, nowMs, { source: feed.id })
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
  { end, next, newestMs, newCount }: PageOfPass,
  nowMs: number,
) {
  const endsFullPass = end !== undefined && end !== 'page repeats' && feedState.pass === 'full'
  const absent = endsFullPass
    ? await countAbsent(tx, feed.id, feedState.fullPass, feed.vanishShareMax)
    : feedState.absent
  const heldUntilMs = nowMs + lockMs(feed)
  const read = { ...feedState, absent, heldUntilMs, page: feedState.page + 1, records: feedState.records + newCount }
  const after = end ? afterLastPage(read, end, newestMs, nowMs) : afterPage(read, next ?? '', newestMs)
  await storeFeedState(tx, after)
  if (endsFullPass && absent > 0) await uniteOldPresence(tx, feed.id, feedState.fullPass - feed.vanishAfter)
  if (!endsFullPass || absent > 0) return { feedState: after, vanished: 0 }
  await dropUnseenRejects(tx, feed.id, feedState.startedMs)
  const others = context.settings.markets.feeds.map(({ id }) => id).filter((id) => id !== feed.id)
  const vanished = await markVanished(tx, feed.id, others, feedState.fullPass, feed.vanishAfter, nowMs)
  return { feedState: after, vanished: vanished.length }
}
