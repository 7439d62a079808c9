// Opens the threads that read the history of markets.

import type { Settings } from '#runtime/settings.ts'
import { openThreadPool } from '#runtime/thread-pool.ts'
import { coreCount, type WorkerThread } from '#runtime/worker-thread.ts'
import type { HistoryThreadStart } from './history-handlers.ts'

interface ServerParts {
  readonly dataDir: string
  readonly settings: Settings
}

/** They leave a core to other requests, where there are several. */
const threadsMax = 2
/** Longer than people look at one chart after another. */
const idleMs = 60_000

/** They start with the first query, and end when there is none for a while. */
export function openHistoryThreads({ dataDir, settings }: ServerParts): WorkerThread {
  const start: HistoryThreadStart = {
    dir: dataDir,
    // A query uses one connection at a time; rule 3 of markets/history/history-query.ts.
    options: { ...settings.store, stateReplicas: [], stateConnections: 2 },
    settings: { markets: { feeds: settings.markets.feeds } },
  }
  const threads = Math.max(1, Math.min(threadsMax, coreCount() - 1))
  return openThreadPool(new URL('./history-thread.ts', import.meta.url), start, { threads, idleMs })
}
