// The thread that reads the history of markets (markets/history/history-query.ts), with its own connection.

import {
  changesBatchQuery,
  changesOfMarketQuery,
  changesPageQuery,
} from '#markets/extensions/changes/change-queries.ts'
import { pricesQuery } from '#markets/extensions/prices/prices-query.ts'
import type { HistoryContext, HistoryQuery } from '#markets/history/history-query.ts'
import { marketAsOfQuery } from '#markets/history/market-as-of-query.ts'
import { serveThread, type ThreadHandlers, threadStart } from '#runtime/worker-thread.ts'
import { abortableState } from '#storage/abortable-stores.ts'
import { openIngest, type StoreOptions } from '#storage/open.ts'

/** What the thread opens the database with, and the feeds of which it reports the coverage. */
export interface HistoryThreadStart extends Pick<HistoryContext, 'settings'> {
  readonly dir: string
  readonly options: StoreOptions
}

const queries: readonly HistoryQuery<never, unknown>[] = [
  marketAsOfQuery,
  pricesQuery,
  changesPageQuery,
  changesOfMarketQuery,
  changesBatchQuery,
]

const { dir, options, settings } = threadStart<HistoryThreadStart>()
const opening = openIngest(dir, options)

const handlers: ThreadHandlers = Object.fromEntries(
  queries.map(({ name, run }) => [
    name,
    async (input: never, signal: AbortSignal) => {
      const ingest = abortableState(await opening, { signal })
      return { value: await run({ ingest, settings }, input) }
    },
  ]),
)
serveThread(handlers)
