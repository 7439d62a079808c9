// A simulated market feed that fails on request.
import { type SimulatedServer, sendJson, startSimulatedServer } from '#simulator/listen.ts'
import { type FeedEntry, type FeedListing, readPage } from '#simulator/markets/feed.ts'
import { createSeededRandom } from '#simulator/seeded-random.ts'

/**
 * In the order of the list: status 500, status 429, a truncated response, a closed connection, the previous page again, an
 * unknown field, a wrong type, a market without a slug, changes between two pages, an old version of a record.
 */
export type MarketFault =
  | 'error'
  | 'busy'
  | 'garbage'
  | 'drop'
  | 'repeat'
  | 'unknown'
  | 'wrong'
  | 'nameless'
  | 'moving'
  | 'old'

export interface FaultyFeedOptions {
  readonly seed: string
  readonly listing: FeedListing
  /** Called for the fault `moving`. */
  readonly advance?: () => void
}

/** `url` is the list of markets. */
export interface FaultyFeed extends SimulatedServer {
  /** Probability of each fault from now on. Default: no faults. */
  setFaults(chances: Partial<Record<MarketFault, number>>): void
}

export async function startFaultyFeed({ seed, listing, advance }: FaultyFeedOptions): Promise<FaultyFeed> {
  const draws = createSeededRandom(seed).fork('feed')
  /** Older versions of records, for the fault `old`. */
  const oldValues = new Map<string, Record<string, unknown>>()
  let chances: Partial<Record<MarketFault, number>> = {}
  let bodyBefore: string | undefined

  const hasFault = (fault: MarketFault): boolean => {
    const chance = chances[fault] ?? 0
    return chance > 0 && draws.happens(chance)
  }

  const toRecord = ({ id, value }: FeedEntry): Record<string, unknown> => {
    const old = oldValues.get(id)
    if (!old || draws.happens(0.5)) oldValues.set(id, value)
    if (old && hasFault('old')) return old
    if (hasFault('unknown')) return { ...value, localRules: [draws.whole(0, 9)], 'x-new': true }
    if (hasFault('wrong')) return { ...value, active: 'perhaps', bestBid: '0.5' }
    if (hasFault('nameless')) return { ...value, slug: null }
    return value
  }

  const server = await startSimulatedServer(async (request, _, response) => {
    const url = new URL(request.url ?? '/', 'http://feed')
    if (url.pathname !== '/markets') return sendJson(response, 404, '{"error":"not found"}')
    if (hasFault('moving')) advance?.()
    if (hasFault('error')) return sendJson(response, 500, '{"error":"internal"}')
    if (hasFault('busy')) return sendJson(response, 429, '{"error":"slow down"}', { 'retry-after': '1' })
    if (hasFault('drop')) return void request.socket.destroy()
    const repeated = hasFault('repeat') ? bodyBefore : undefined
    const body = repeated ?? JSON.stringify(await readPage(listing, url.searchParams, toRecord))
    bodyBefore = body
    sendJson(response, 200, hasFault('garbage') ? body.slice(0, body.length / 2) : body)
  })
  return {
    ...server,
    url: `${server.url}/markets`,
    setFaults: (newChances) => {
      chances = newChances
    },
  }
}
