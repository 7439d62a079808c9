// Parses a page of a feed. A page of 500 records is megabytes and takes 40 ms, on the thread of the ingesters.
import { parseJson } from '#api/contract/json.ts'
import type { MarketFeed } from '#runtime/settings/markets.ts'
import { cleanUrl, FetchError } from '#sources/http-client.ts'
import { type FeedPage, parseFeedPage } from './feed-page.ts'

/** Throws if the page is not JSON in UTF-8, or has no list. */
export const parsePage = (bytes: Uint8Array, feed: MarketFeed, cursor: string): FeedPage =>
  parseFeedPage(parseBytes(bytes, feed), feed, cursor)

function parseBytes(bytes: Uint8Array, { url }: MarketFeed): unknown {
  try {
    return parseJson(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    throw new FetchError('text', `${cleanUrl(url)} did not return JSON`)
  }
}
