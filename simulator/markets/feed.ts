// A simulated market feed over HTTP: paging by offset or by cursor, changes since a time, the state at a past time, and
// simulated failures.
import type { ServerResponse } from 'node:http'
import { type SimulatedServer, startSimulatedServer } from '../listen.ts'
import { createSeededRandom } from '../seeded-random.ts'

/** One entry of a feed. */
export interface FeedEntry {
  readonly id: string
  readonly updatedMs: number
  readonly value: Record<string, unknown>
}

/** What a feed lists, in the order of ids. */
export interface FeedListing {
  /** `atMs`: as of a past time, if the listing supports it. Default: now. */
  entries(atMs?: number): FeedEntry[] | Promise<FeedEntry[]>
}

/**
 * Simulated failures, in the order of the list: status 500, status 429, a truncated response, a closed connection, the
 * previous page again, an unknown field, a wrong type, a market without a slug, changes between two pages, an old version
 * of a record.
 */
const marketFaults = [
  'error',
  'busy',
  'garbage',
  'drop',
  'repeat',
  'unknown',
  'wrong',
  'nameless',
  'moving',
  'old',
] as const
export type MarketFault = (typeof marketFaults)[number]

const pageMax = 500

export interface MarketFeedOptions {
  readonly seed: string
  readonly listing: FeedListing
  /** Called for the fault `moving`. */
  readonly advance?: () => void
}

/** `url` is the list of markets. */
export interface SimulatedFeed extends SimulatedServer {
  /** Probability of each fault from now on. Default: no faults. */
  setFaults(chances: Partial<Record<MarketFault, number>>): void
}

export async function startMarketFeed({ seed, listing, advance }: MarketFeedOptions): Promise<SimulatedFeed> {
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

  /** `style=wrapped` returns an object with the list and the cursor of the next page. */
  const readPage = async (query: URLSearchParams): Promise<unknown> => {
    const since = Date.parse(query.get('updated_since') ?? '')
    const asOf = query.get('as_of')
    let entries = await listing.entries(asOf === null ? undefined : Number(asOf))
    if (!Number.isNaN(since)) entries = entries.filter(({ updatedMs }) => updatedMs >= since)
    if (query.get('order') === 'newest') entries.sort((a, b) => b.updatedMs - a.updatedMs)
    const after = query.get('cursor')
    if (after !== null) entries = entries.filter(({ id }) => Number(id) > Number(after))
    const from = Number(query.get('offset') ?? 0)
    const size = Math.min(Number(query.get('limit') ?? 20), pageMax)
    const page = entries.slice(from, from + size)
    const records = page.map(toRecord)
    if (query.get('style') !== 'wrapped') return records
    return { data: records, next_cursor: page.length < entries.length - from ? page.at(-1)?.id : null }
  }

  const server = await startSimulatedServer(async (request, _, response) => {
    const url = new URL(request.url ?? '/', 'http://feed')
    if (url.pathname !== '/markets') return send(response, 404, '{"error":"not found"}')
    if (hasFault('moving')) advance?.()
    if (hasFault('error')) return send(response, 500, '{"error":"internal"}')
    if (hasFault('busy')) return send(response, 429, '{"error":"slow down"}', { 'retry-after': '1' })
    if (hasFault('drop')) return void request.socket.destroy()
    const repeated = hasFault('repeat') ? bodyBefore : undefined
    const body = repeated ?? JSON.stringify(await readPage(url.searchParams))
    bodyBefore = body
    send(response, 200, hasFault('garbage') ? body.slice(0, body.length / 2) : body)
  })
  return {
    ...server,
    url: `${server.url}/markets`,
    setFaults: (newChances) => {
      chances = newChances
    },
  }
}

function send(response: ServerResponse, status: number, body: string, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body)
}
