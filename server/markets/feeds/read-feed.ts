// Reads markets from an HTTP feed into the database, one pass at a time. A full pass reads everything, a recent pass what
// has changed since the last pass. The cursor moves after all parts of a page have been written (read/feed-state.ts), so a
// stop loses nothing and repeats at most one page. Writing a record twice changes nothing (write/put-markets.ts).
import type { MarketFeed } from '#runtime/settings/markets.ts'
import type { MarketsContext } from '../context.ts'
import type { Pass, PassEnd } from '../read/feed-state.ts'
import { Renames } from '../records/decompose.ts'
import { lockFeed, releaseFeed } from './feed-lock.ts'
import { type PageOfPass, PageReader } from './page-reader.ts'
import { type WrittenPage, writePage } from './write-page.ts'

export type PassReport = Readonly<ReturnType<typeof newPassReport>>

const newPassReport = (pass: Pass) => ({
  pass,
  pages: 0,
  /** Records in the overlap of two pages count once. */
  records: 0,
  changed: 0,
  rejected: 0,
  vanished: 0,
  /** Markets missing from a full pass, if too many to mark as vanished; otherwise 0. */
  absent: 0,
  end: 'end' as PassEnd,
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
}

/** Reads one pass over a feed, or the rest of an interrupted one. */
export async function readFeed(context: MarketsContext, feed: MarketFeed, options: PassOptions): Promise<PassReport> {
  let feedState = await lockFeed(context, feed, options)
  const pages = new PageReader(context, feed, feedState, options.signal)
  const renames = new Renames(feed.fields)
  const total = newPassReport(feedState.pass)
  try {
    for (;;) {
      const page = await pages.next(feedState)
      const written = await writePage(context, feed, renames, feedState, page)
      feedState = written.feedState
      addPage(total, page, written)
      options.onPage?.({ ...total })
      if (page.end !== undefined) return total
    }
  } finally {
    await releaseFeed(context, feed.id, options.holder)
  }
}

function addPage(total: ReturnType<typeof newPassReport>, page: PageOfPass, written: WrittenPage): void {
  total.pages += 1
  total.records += page.newCount
  total.changed += written.changed
  total.rejected += written.rejected
  total.vanished += written.vanished
  if (total.pass === 'full') total.absent = written.feedState.absent
  if (page.end !== undefined) total.end = page.end
}
