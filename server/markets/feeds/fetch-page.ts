// Requests one page of a market feed: within the rate limit of the feed, and again after a failure that may pass.
import type { MarketFeed } from '#runtime/settings/markets.ts'
import { FetchError, fetchBytes } from '#sources/http-client.ts'
import type { MarketsContext } from '../context.ts'
import type { FeedPage } from './feed-page.ts'

const triesMax = 4
const firstWaitMs = 1000
const longestWaitMs = 60_000

/** How long a page can take with all its retries. */
export const pageMaxMs = ({ timeoutMs, perSecond }: MarketFeed): number =>
  triesMax * (timeoutMs + longestWaitMs) + Math.ceil(1000 / perSecond)

/** Limits requests to the feed's `perSecond`. */
export function createPacer(
  context: MarketsContext,
  { perSecond }: MarketFeed,
): (signal: AbortSignal) => Promise<void> {
  let lastMs = Number.NEGATIVE_INFINITY
  return async (signal) => {
    const waitMs = lastMs + 1000 / perSecond - context.clock.monotonicMs()
    if (waitMs > 0) await context.clock.sleep(waitMs, signal)
    lastMs = context.clock.monotonicMs()
  }
}

export async function fetchPage(
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
