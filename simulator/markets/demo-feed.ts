// The feed of the demo markets over HTTP.
import type { Clock } from '#runtime/clock.ts'
import type { SimulatedServer } from '../listen.ts'
import { type FeedListing, startMarketFeed } from './feed.ts'

export interface DemoFeed extends SimulatedServer {
  /** Sets the day on which the demo was created, before the feed is read. Default: today. */
  setCreated(atMs: number): void
}

export async function startDemoFeed(seed: string, clock: Pick<Clock, 'now'>): Promise<DemoFeed> {
  let createdMs: number | undefined
  let listing: Promise<FeedListing> | undefined
  const createListing = async (): Promise<FeedListing> => {
    // Loaded with the first request, because a server waits for the addresses of the nodes and feeds.
    const [{ DemoDates }, { createDemoListing }] = await Promise.all([import('./dates.ts'), import('./listing.ts')])
    return createDemoListing(seed, new DemoDates(createdMs ?? clock.now()), () => clock.now())
  }
  const entries = async (atMs?: number) => {
    listing ??= createListing()
    return (await listing).entries(atMs)
  }
  const feed = await startMarketFeed({ entries })
  const setCreated = (atMs: number) => {
    createdMs = atMs
  }
  return { ...feed, setCreated }
}
