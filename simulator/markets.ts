// The prediction markets of the demo. The server reads them over HTTP from a simulated feed, like real markets.
import { fillDefaults } from '#core/schema-check.ts'
import { readFeed } from '#markets/feeds/read-feed.ts'
import { MarketFeed } from '#runtime/settings/markets.ts'
import type { AppContext } from '#server/context.ts'
import { stoppedAt } from './stopped-clock.ts'

/** A new demo already has a history: the feed is read as of these times. */
const hoursAgo = [168, 72, 24, 6, 1, 0] as const

const feedOf = (url: string) => ({
  id: 'demo',
  url,
  list: 'data',
  query: { style: 'wrapped' },
  everyMs: 5000,
  // The demo reads its own feed several times at the first start.
  perSecond: 1000,
  // Pages of about 230 kB. The last page is requested twice.
  paging: { kind: 'keyset', size: 15 },
  recent: { since: 'updated_since' },
})

/** Settings that make a server read the feed at this URL. */
export const demoMarketSettings = (url: string): object => ({ markets: { feeds: [feedOf(url)] } })

/** Reads the feed as of several past times. */
export async function readPastMarkets(context: AppContext, url: string): Promise<void> {
  const options = { holder: 'demo', takeOver: true, signal: new AbortController().signal }
  for (const hours of hoursAgo) {
    const atMs = context.clock.now() - hours * 3_600_000
    const feed = feedOf(url)
    const source = fillDefaults(MarketFeed, { ...feed, query: { ...feed.query, as_of: String(atMs) } })
    const past = { ...context, clock: stoppedAt(context.clock, atMs) }
    const { rejected } = await readFeed(past, source, { ...options, full: hours === hoursAgo[0] })
    if (rejected > 0) throw new Error(`${rejected} records of the demo do not match the contract`)
  }
}
