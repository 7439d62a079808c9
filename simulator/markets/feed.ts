// A simulated market feed over HTTP: paging by offset or by cursor, changes since a time, and the state at a past time.
import { type SimulatedServer, sendJson, startSimulatedServer } from '../listen.ts'

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

const pageMax = 500

/** `url` is the list of markets. */
export async function startMarketFeed(listing: FeedListing): Promise<SimulatedServer> {
  const server = await startSimulatedServer(async (request, _, response) => {
    const url = new URL(request.url ?? '/', 'http://feed')
    if (url.pathname !== '/markets') return sendJson(response, 404, '{"error":"not found"}')
    sendJson(response, 200, JSON.stringify(await readPage(listing, url.searchParams)))
  })
  return { ...server, url: `${server.url}/markets` }
}

/** `style=wrapped` returns an object with the list and the cursor of the next page. */
export async function readPage(
  listing: FeedListing,
  query: URLSearchParams,
  toRecord = ({ value }: FeedEntry): Record<string, unknown> => value,
): Promise<unknown> {
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
