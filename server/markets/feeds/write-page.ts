// Writes one page of a feed: its records part by part, with the last one rejects and cursor. After a full pass, it also marks the
// markets that have vanished.
import { nextEventLoopTurn } from '#runtime/clock.ts'
import type { MarketFeed } from '#runtime/settings/markets.ts'
import { cleanUrl } from '#sources/http-client.ts'
import type { StateWriter } from '#storage/state.ts'
import type { MarketsContext } from '../context.ts'
import type { FeedState } from '../read/feed-state.ts'
import { decompose, type Renames } from '../records/decompose.ts'
import { RecordAcceptor, type Reject } from '../write/accept-records.ts'
import { type PutReport, putAccepted } from '../write/put-markets.ts'
import { dropResolvedRejects, dropUnseenRejects, storeRejects } from '../write/rejects.ts'
import { SourceNames } from '../write/source-forms.ts'
import { WritePart } from '../write/write-parts.ts'
import { lockMs, refuseIfTakenOver } from './feed-lock.ts'
import { countAbsent, markVanished, recordPresence, uniteOldPresence } from './feed-presence.ts'
import { afterLastPage, afterPage, storeFeedState } from './feed-progress.ts'
import type { PageOfPass } from './page-reader.ts'

export type WrittenPage = Awaited<ReturnType<typeof writePage>>

/** Records that are prepared in one turn of the event loop. */
const recordsPerTurn = 50

/** The records of a page in parts, prepared for their transactions. */
async function splitPage(
  { ingest: { engine }, markets: { known, sourceForms } }: MarketsContext,
  feed: MarketFeed,
  renames: Renames,
  location: string,
  { changedRecords }: PageOfPass,
): Promise<readonly WritePart[]> {
  const acceptor = new RecordAcceptor(known)
  const names = new SourceNames(feed.fields)
  let part = new WritePart(engine)
  const parts = [part]
  for (const [count, [at, value]] of changedRecords.entries()) {
    if (part.isFull) {
      part = new WritePart(engine)
      parts.push(part)
    }
    const divide = () => decompose(value, feed.record, renames, `${location} record ${at + 1}`)
    part.add(sourceForms.accept(feed.id, feed.record, names, value, acceptor, divide))
    if (count % recordsPerTurn === recordsPerTurn - 1) await nextEventLoopTurn()
  }
  return parts
}

/** Writes the records and presence of a page, part by part. Rejects and the cursor are written with the last. */
export async function writePage(
  context: MarketsContext,
  feed: MarketFeed,
  renames: Renames,
  feedState: FeedState,
  page: PageOfPass,
) {
  const { ingest, clock } = context
  let changed = 0
  const location = `${cleanUrl(feed.url)} page ${feedState.page + 1}`
  const parts = await splitPage(context, feed, renames, location, page)
  const rejects: Reject[] = []
  const last = parts.at(-1)
  let end = { feedState, vanished: 0 }
  for (const part of parts) {
    const written = await ingest.write(
      async (tx) => {
        const nowMs = clock.now()
        const report = await writePart(context, tx, feed, feedState, part, nowMs)
        if (part !== last) return { report, end }
        // If the clock was set back during the pass, `dropUnseenRejects` must not take them for those of an earlier pass.
        await storeRejects(tx, feed.id, [...rejects, ...report.rejects], Math.max(nowMs, feedState.startedMs))
        return { report, end: await advanceFeed(tx, context, feed, feedState, page, nowMs) }
      },
      { lock: 'markets' },
    )
    written.report.learn()
    rejects.push(...written.report.rejects)
    changed += written.report.changed
    end = written.end
    // So that signals and calls are handled between two parts.
    await nextEventLoopTurn()
  }
  return { changed, ...end, rejected: rejects.length }
}

async function writePart(
  { markets: { known } }: MarketsContext,
  tx: StateWriter,
  feed: MarketFeed,
  feedState: FeedState,
  part: WritePart,
  nowMs: number,
): Promise<PutReport> {
  await refuseIfTakenOver(tx, feed, feedState)
  const report = await putAccepted(tx, part.sources, nowMs, { source: feed.id, known })
  const rejected = new Set(report.rejects.map(({ kind, id }) => `${kind}/${id}`))
  await dropResolvedRejects(tx, feed.id, () =>
    part.sources
      .flatMap((source) => source.records())
      .filter(({ kind, id }) => id !== '' && !rejected.has(`${kind}/${id}`)),
  )
  const seen = part.sources.flatMap(({ marketIds }) => marketIds)
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
