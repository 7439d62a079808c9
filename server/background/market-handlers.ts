// What a thread that reads markets does when it is called (markets/threads/thread-query.ts).
import {
  changesBatchQuery,
  changesOfMarketQuery,
  changesPageQuery,
} from '#markets/extensions/changes/change-queries.ts'
import { composePageQuery } from '#markets/extensions/lists/compose-page.ts'
import { pricesQuery } from '#markets/extensions/prices/prices-query.ts'
import { foundMarketsQuery } from '#markets/extensions/search/search.ts'
import { marketAsOfQuery } from '#markets/threads/market-as-of-query.ts'
import type { ThreadContext, ThreadQuery } from '#markets/threads/thread-query.ts'
import type { ThreadHandlers } from '#runtime/worker-thread.ts'
import { abortableState } from '#storage/abortable-stores.ts'
import type { StoreOptions } from '#storage/open.ts'
import type { State } from '#storage/state.ts'

/** What the thread opens the database with, and the feeds of which it reports the coverage. */
export interface MarketThreadStart extends Pick<ThreadContext, 'settings'> {
  readonly dir: string
  readonly options: StoreOptions
}

const queries: readonly ThreadQuery<never, unknown>[] = [
  marketAsOfQuery,
  pricesQuery,
  changesPageQuery,
  changesOfMarketQuery,
  changesBatchQuery,
  composePageQuery,
  foundMarketsQuery,
]

/** A thread learns in a turn of its event loop that a call was aborted, so there is one after every statement. */
const stepsPerYield = 1

export const marketHandlers = (opening: Promise<State>, settings: MarketThreadStart['settings']): ThreadHandlers =>
  Object.fromEntries(
    queries.map(({ name, run }) => [
      name,
      async (input: never, signal: AbortSignal) => {
        const ingest = abortableState(await opening, { signal, stepsPerYield })
        const value = await run({ ingest, settings }, input)
        return { value, transfer: buffersOf(value) }
      },
    ]),
  )

/** Buffers of a response, which are moved to the main thread instead of copied. Short ones share a buffer of the thread. */
const buffersOf = (value: unknown): ArrayBuffer[] =>
  [value, ...Object.values(value ?? {})].flatMap((part) =>
    part instanceof Uint8Array && part.buffer instanceof ArrayBuffer && part.byteLength === part.buffer.byteLength
      ? [part.buffer]
      : [],
  )
