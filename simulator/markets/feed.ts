// A simulated market feed over HTTP: paging by offset or by cursor, changes since a time, the state at a past time, and
// simulated failures.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type SimulatedServer, startSimulatedServer } from '../listen.ts'
import { createSeededRandom, type SeededRandom } from '../seeded-random.ts'

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
  /** Requests so far. */
  readonly requestCount: number
}

export async function startMarketFeed(options: MarketFeedOptions): Promise<SimulatedFeed> {
  const feed = new Feed(options)
  const server = await startSimulatedServer((request, _, response) => feed.respond(request, response))
  return {
    ...server,
    url: `${server.url}/markets`,
    setFaults: (chances) => feed.setFaults(chances),
    get requestCount() {
      return feed.requestCount
    },
  }
}

class Feed {
  requestCount = 0
  readonly #options: MarketFeedOptions
  readonly #draws: SeededRandom
  #chances: Partial<Record<MarketFault, number>> = {}
  #before: string | undefined
  /** Older versions of records, for the fault `old`. */
  readonly #old = new Map<string, Record<string, unknown>>()

  constructor(options: MarketFeedOptions) {
    this.#options = options
    this.#draws = createSeededRandom(options.seed).fork('feed')
  }

  setFaults(chances: Partial<Record<MarketFault, number>>): void {
    this.#chances = chances
  }

  async respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.requestCount += 1
    const url = new URL(request.url ?? '/', 'http://feed')
    if (url.pathname !== '/markets') return send(response, 404, '{"error":"not found"}')
    if (this.#hasFault('moving')) this.#options.advance?.()
    if (this.#hasFault('error')) return send(response, 500, '{"error":"internal"}')
    if (this.#hasFault('busy')) return send(response, 429, '{"error":"slow down"}', { 'retry-after': '1' })
    if (this.#hasFault('drop')) return void request.socket.destroy()
    const repeat = this.#hasFault('repeat') ? this.#before : undefined
    const body = repeat ?? JSON.stringify(await this.#page(url.searchParams))
    this.#before = body
    if (this.#hasFault('garbage')) return send(response, 200, body.slice(0, body.length / 2))
    send(response, 200, body)
  }

  #hasFault(fault: MarketFault): boolean {
    const chance = this.#chances[fault] ?? 0
    return chance > 0 && this.#draws.happens(chance)
  }

  /** `style=wrapped` returns an object with the list and the cursor of the next page. */
  async #page(query: URLSearchParams): Promise<unknown> {
    const since = Date.parse(query.get('updated_since') ?? '')
    const asOf = query.get('as_of')
    let entries = await this.#options.listing.entries(asOf === null ? undefined : Number(asOf))
    if (!Number.isNaN(since)) entries = entries.filter(({ updatedMs }) => updatedMs >= since)
    if (query.get('order') === 'newest') entries.sort((a, b) => b.updatedMs - a.updatedMs)
    const after = query.get('cursor')
    if (after !== null) entries = entries.filter(({ id }) => Number(id) > Number(after))
    const from = Number(query.get('offset') ?? 0)
    const size = Math.min(Number(query.get('limit') ?? 20), pageMax)
    const page = entries.slice(from, from + size)
    const records = page.map((entry) => this.#toRecord(entry))
    if (query.get('style') !== 'wrapped') return records
    return { data: records, next_cursor: page.length < entries.length - from ? page.at(-1)?.id : null }
  }

  #toRecord({ id, value }: FeedEntry): Record<string, unknown> {
    const old = this.#old.get(id)
    if (!old || this.#draws.happens(0.5)) this.#old.set(id, value)
    if (old && this.#hasFault('old')) return old
    if (this.#hasFault('unknown')) return { ...value, localRules: [this.#draws.whole(0, 9)], 'x-new': true }
    if (this.#hasFault('wrong')) return { ...value, active: 'perhaps', bestBid: '0.5' }
    if (this.#hasFault('nameless')) return { ...value, slug: null }
    return value
  }
}

function send(response: ServerResponse, status: number, body: string, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body)
}
