// Runs expensive reads of markets on threads of their own: their history, and the documents of lists. Many versions or
// documents may be read, and no key is needed. The code of a query runs on a thread in a server, and on the current thread
// in commands and tests.
//
// 1. Few queries run at the same time, one per caller. Others wait in a limited queue; beyond it they are refused with 429.
//    After a query of the history, a caller rests for as long as the query took.
// 2. An aborted request leaves the queue, or ends its query at the next read (storage/abortable-stores.ts).
// 3. Queries on threads read the primary of PostgreSQL: a replica could be behind what the main thread has seen.
import { Fault } from '#core/fault.ts'
import { CallerQueue } from '#http/caller-queue.ts'
import type { Caller } from '#http/handler.ts'
import type { Clock } from '#runtime/clock.ts'
import type { WorkerThread } from '#runtime/worker-thread.ts'
import { anonymousId } from '#storage/keys.ts'
import type { MarketsContext } from '../context.ts'

/** What a query gets besides its input. */
export type ThreadContext = Pick<MarketsContext, 'ingest'> & {
  readonly settings: { readonly markets: Pick<MarketsContext['settings']['markets'], 'feeds'> }
}

/** Input and result are cloned between threads. Each query is in the list of background/market-handlers.ts. */
export interface ThreadQuery<Input, Result> {
  readonly name: string
  readonly run: (context: ThreadContext, input: Input) => Promise<Result>
}

export interface MarketThreads {
  /** Undefined: queries run on the current thread. */
  readonly pool: WorkerThread | undefined
  readonly historyQueue: CallerQueue
  readonly listQueue: CallerQueue
}

/** A query takes up to about a second. */
const historyQueueOptions = {
  runningMax: 4,
  waitingMax: 12,
  waitingPerCallerMax: 4,
  refusal: () => new Fault('markets.history_busy', { retryAfterMs: 2000 }),
}

/** Shorter queries are limited by the calls per second. */
const restFromMs = 50

/** Most pages take milliseconds, and a page may open many lists at once. */
const listQueueOptions = {
  runningMax: 4,
  waitingMax: 200,
  waitingPerCallerMax: 50,
  refusal: () => new Fault('markets.lists_busy', { retryAfterMs: 2000 }),
}

export const createMarketThreads = (clock: Clock, pool?: WorkerThread): MarketThreads => ({
  pool,
  historyQueue: new CallerQueue({ ...historyQueueOptions, rest: { clock, restFromMs } }),
  listQueue: new CallerQueue(listQueueOptions),
})

/** The result of a query of the history for a request. */
export const readHistory = <Input, Result>(
  context: MarketsContext,
  caller: Caller,
  query: ThreadQuery<Input, Result>,
  input: Input,
): Promise<Result> =>
  context.markets.threads.historyQueue.run(callerName(caller), () => runOnThread(context, query, input), context.signal)

/** The result of a query of a list for a request. */
export const readForList = <Input, Result>(
  context: MarketsContext,
  caller: Caller,
  query: ThreadQuery<Input, Result>,
  input: Input,
): Promise<Result> =>
  context.markets.threads.listQueue.run(callerName(caller), () => runOnThread(context, query, input), context.signal)

/** Without the queue, for what is limited otherwise, such as streams. */
export const runOnThread = <Input, Result>(
  context: MarketsContext,
  query: ThreadQuery<Input, Result>,
  input: Input,
): Promise<Result> => {
  const { pool } = context.markets.threads
  return pool ? (pool.call(query.name, input, context.signal) as Promise<Result>) : query.run(context, input)
}

/** By key, or by network without one. */
export const callerName = ({ keyId, network }: Caller): string =>
  keyId === anonymousId ? `from ${network}` : `key ${keyId}`
