// Parses the pages of one pass over a feed. A page of 500 records is megabytes, and parsing it at once would block requests
// for 40 ms. A thread checks a large page and returns its records as texts, which are parsed here a few at a time. The
// thread ends with the pass, because it takes about 12 MiB of memory.
import { parseJson } from '#api/json.ts'
import { nextEventLoopTurn } from '#runtime/clock.ts'
import type { MarketFeed } from '#runtime/settings/markets.ts'
import { openThread, type WorkerThread } from '#runtime/worker-thread.ts'
import { cleanUrl, FetchError } from '#sources/http-client.ts'
import { type FeedPage, parseFeedPage } from './feed-page.ts'

/** Takes about two milliseconds here; passing it to the thread costs as much. */
export const inlineBytesMax = 256 * 1024
/** Takes about a millisecond. */
const charsPerYield = 128 * 1024

/** A page with its records as JSON. */
export interface PageTexts extends Omit<FeedPage, 'records'> {
  readonly texts: readonly string[]
}

export interface PageInput {
  readonly bytes: Uint8Array
  readonly feed: MarketFeed
  readonly cursor: string
}

export class PageParser {
  readonly #thread: WorkerThread = openThread(new URL('./parse-page-thread.ts', import.meta.url), undefined, {
    isBackground: true,
  })

  /** Throws if the page is not JSON, or has no list. */
  async parse(bytes: Uint8Array, feed: MarketFeed, cursor: string): Promise<FeedPage> {
    if (bytes.length <= inlineBytesMax) {
      const document = parseBytes(bytes)
      if (!document) throw notJson(feed)
      return parseFeedPage(document.json, feed, cursor)
    }
    const parsed = await this.#thread.call<PageTexts | undefined>('parse', { bytes, feed, cursor } satisfies PageInput)
    if (!parsed) throw notJson(feed)
    const { texts, ...page } = parsed
    return { ...page, records: await parseTexts(texts) }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#thread.close()
  }
}

/** Yields to the event loop, so that other requests are handled. */
export async function parseTexts(texts: readonly string[]): Promise<unknown[]> {
  const records: unknown[] = []
  let chars = 0
  for (const text of texts) {
    records.push(parseJson(text))
    chars += text.length
    if (chars < charsPerYield) continue
    chars = 0
    await nextEventLoopTurn()
  }
  return records
}

/** undefined: not JSON in UTF-8. */
export function parseBytes(bytes: Uint8Array): { readonly json: unknown } | undefined {
  try {
    return { json: parseJson(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) }
  } catch {
    return undefined
  }
}

const notJson = ({ url }: MarketFeed): FetchError => new FetchError('text', `${cleanUrl(url)} did not return JSON`)
