// Reads the pages of one pass over a feed, one after the other. Each is requested within the rate limit of the feed, and a
// second time if it is unexpected.
import type { MarketFeed } from '#runtime/settings/markets.ts'
import type { MarketsContext } from '../context.ts'
import type { FeedState, PassEnd } from '../read/feed-state.ts'
import { changedRecordsIn, continuesPage, type FeedPage, mergePages, overlapKeys, pageUrl } from './feed-page.ts'
import { createPacer, fetchPage } from './fetch-page.ts'
import { parsePage } from './parse-page.ts'
import { findPassEnd } from './pass-end.ts'
import { SeenRecords } from './seen-records.ts'

export interface PageOfPass extends FeedPage {
  readonly changedRecords: ReturnType<typeof changedRecordsIn>
  /** How many records are new in this pass. */
  readonly newCount: number
  readonly end: PassEnd | undefined
}

export class PageReader {
  readonly #context: MarketsContext
  readonly #feed: MarketFeed
  readonly #signal: AbortSignal
  readonly #waitForTurn: (signal: AbortSignal) => Promise<void>
  readonly #sinceMs: number | undefined
  readonly #seen: SeenRecords
  #previous: FeedPage | undefined
  /** The records that the next page repeats. */
  #overlap: ReadonlySet<string> = new Set()

  constructor(context: MarketsContext, feed: MarketFeed, { readUntilMs }: FeedState, signal: AbortSignal) {
    this.#context = context
    this.#feed = feed
    this.#signal = signal
    this.#waitForTurn = createPacer(context, feed)
    this.#sinceMs = readUntilMs === null ? undefined : readUntilMs - feed.recent.overlapMs
    this.#seen = new SeenRecords(feed)
  }

  /** The page at the cursor of the feed. */
  async next(feedState: FeedState): Promise<PageOfPass> {
    const feed = this.#feed
    const page = await this.#fetchTwiceIfNeeded(feedState)
    const end = this.#findEnd(feedState, page)
    if (end === undefined && feedState.page + 1 >= feed.pagesMax)
      throw new Error(`the feed has more than ${feed.pagesMax} pages; increase pagesMax if that is correct`)
    const changedRecords = changedRecordsIn(feed, page, this.#overlap)
    this.#overlap = overlapKeys(feed, page)
    this.#previous = page
    return { ...page, changedRecords, newCount: this.#seen.add(page.records), end }
  }

  /**
   * A page that ends the pass, or does not continue the previous one, is requested twice: a single wrong answer must not
   * end a pass or leave records out.
   */
  async #fetchTwiceIfNeeded(feedState: FeedState): Promise<FeedPage> {
    const page = await this.#fetchOnce(feedState)
    if (this.#isExpected(feedState, page)) return page
    const again = await this.#fetchOnce(feedState)
    return this.#isExpected(feedState, again) ? again : mergePages(page, again)
  }

  #isExpected(feedState: FeedState, page: FeedPage): boolean {
    return this.#findEnd(feedState, page) === undefined && continuesPage(this.#feed, page, this.#previous)
  }

  #findEnd(feedState: FeedState, page: FeedPage): PassEnd | undefined {
    const passSoFar = { sinceMs: this.#sinceMs, seen: this.#seen, previous: this.#previous }
    return findPassEnd(this.#feed, feedState, page, passSoFar)
  }

  async #fetchOnce({ pass, cursor }: FeedState): Promise<FeedPage> {
    await this.#waitForTurn(this.#signal)
    this.#signal.throwIfAborted()
    const parse = async (bytes: Uint8Array) => parsePage(bytes, this.#feed, cursor)
    const url = pageUrl(this.#feed, pass, cursor, this.#sinceMs)
    return fetchPage(this.#context, this.#feed, url, parse, this.#signal)
  }
}
