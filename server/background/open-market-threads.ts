// Opens the threads that read the history of markets and compose their lists.

import type { Settings } from '#runtime/settings.ts'
import { openThreadPool } from '#runtime/thread-pool.ts'
import { coreCount, type WorkerThread } from '#runtime/worker-thread.ts'
import type { MarketThreadStart } from './market-handlers.ts'

interface ServerParts {
  readonly dataDir: string
  readonly settings: Settings
}

/** They leave a core to other requests, where there are several. */
const threadsMax = 2
/** Loading the code again takes longer than most lists. */
const idleMs = 600_000

/** They start with the first query, and end when there is none for a while. */
export function openMarketThreads({ dataDir, settings }: ServerParts): WorkerThread {
  const start: MarketThreadStart = {
    dir: dataDir,
    // A query uses one connection at a time; rule 3 of markets/threads/thread-query.ts.
    options: { ...settings.store, stateReplicas: [], stateConnections: 2 },
    settings: { markets: { feeds: settings.markets.feeds } },
  }
  const threads = Math.max(1, Math.min(threadsMax, coreCount() - 1))
  return openThreadPool(new URL('./market-thread.ts', import.meta.url), start, { threads, idleMs })
}
