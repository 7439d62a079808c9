// What a thread that reads the history of markets does when it is called (markets/history/history-query.ts).
import {
  changesBatchQuery,
  changesOfMarketQuery,
  changesPageQuery,
} from '#markets/extensions/changes/change-queries.ts'
import { pricesQuery } from '#markets/extensions/prices/prices-query.ts'
import type { HistoryContext, HistoryQuery } from '#markets/history/history-query.ts'
import { marketAsOfQuery } from '#markets/history/market-as-of-query.ts'
import type { ThreadHandlers } from '#runtime/worker-thread.ts'
import { abortableState } from '#storage/abortable-stores.ts'
import type { StoreOptions } from '#storage/open.ts'
import type { State } from '#storage/state.ts'

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

/** A thread learns in a turn of its event loop that a call was aborted, so there is one after every statement. */
const stepsPerYield = 1

export const historyHandlers = (opening: Promise<State>, settings: HistoryThreadStart['settings']): ThreadHandlers =>
  Object.fromEntries(
    queries.map(({ name, run }) => [
      name,
      async (input: never, signal: AbortSignal) => {
        const ingest = abortableState(await opening, { signal, stepsPerYield })
        return { value: await run({ ingest, settings }, input) }
      },
    ]),
  )
