// A simulated rate feed that fails on request.
import type { Clock } from '#runtime/clock.ts'
import { type FeedName, feedNames, ratesAt } from '#simulator/fx.ts'
import { type SimulatedServer, sendJson, startSimulatedServer } from '#simulator/listen.ts'

/** Status 500, old rates, a slow response, invalid JSON. */
export type RateFault = 'error' | 'stale' | 'slow' | 'garbage'

export interface FaultyRateFeed extends SimulatedServer {
  /** Lasts until it is set to undefined. */
  setFault(name: FeedName, fault: RateFault | undefined): void
}

const staleByMs = 86_400_000
const slowMs = 30_000

export async function startFaultyRateFeed(seed: string, clock: Clock): Promise<FaultyRateFeed> {
  const faulty = new Map<FeedName, RateFault>()
  const stopping = new AbortController()
  const server = await startSimulatedServer(async (request, _, response) => {
    const name = feedNames.find((one) => request.url === `/${one}/rates`)
    if (!name) return sendJson(response, 404, '{"error":"not found"}')
    const fault = faulty.get(name)
    if (fault === 'error') return sendJson(response, 500, '{"error":"internal"}')
    if (fault === 'garbage') return sendJson(response, 200, '{"rates":[{"base":"EUR","quote":"USD","rate":"-1')
    if (fault === 'slow') await clock.sleep(slowMs, stopping.signal)
    const atMs = clock.now() - (fault === 'stale' ? staleByMs : 0)
    sendJson(response, 200, JSON.stringify(ratesAt(seed, name, atMs)))
  })
  const close = () => {
    stopping.abort()
    return server.close()
  }
  return {
    url: server.url,
    setFault: (name, fault) => void (fault ? faulty.set(name, fault) : faulty.delete(name)),
    close,
    [Symbol.asyncDispose]: close,
  }
}
