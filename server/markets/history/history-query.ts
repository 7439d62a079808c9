// Reads the history of markets on threads of its own: it may take many versions, and no key is needed. The code of a query
// runs on a thread in a server, and on the current thread in commands and tests.
//
// 1. Few queries run at the same time, one per caller, who then rests for as long as the query took. Others wait in a
//    limited queue; beyond it they are refused with 429.
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
export type HistoryContext = Pick<MarketsContext, 'ingest'> & {
  readonly settings: { readonly markets: Pick<MarketsContext['settings']['markets'], 'feeds'> }
}

/** Input and result are cloned between threads. Each query is in the list of background/history-thread.ts. */
export interface HistoryQuery<Input, Result> {
  readonly name: string
  readonly run: (context: HistoryContext, input: Input) => Promise<Result>
}

export interface History {
  /** Undefined: queries run on the current thread. */
  readonly threads: WorkerThread | undefined
  readonly queue: CallerQueue
}

/** A query takes up to about a second. */
const queueOptions = {
  runningMax: 4,
  waitingMax: 12,
  waitingPerCallerMax: 4,
  refusal: () => new Fault('markets.history_busy', { retryAfterMs: 2000 }),
}

/** Shorter queries are limited by the calls per second. */
const restFromMs = 50

export const openHistory = (clock: Clock, threads?: WorkerThread): History => ({
  threads,
  queue: new CallerQueue({ ...queueOptions, rest: { clock, restFromMs } }),
})

/** The answer of a query for a request. */
export const readHistory = <Input, Result>(
  context: MarketsContext,
  caller: Caller,
  query: HistoryQuery<Input, Result>,
  input: Input,
): Promise<Result> =>
  context.markets.history.queue.run(callerName(caller), () => runHistory(context, query, input), context.signal)

/** Without the queue, for what is limited otherwise, such as streams. */
export const runHistory = <Input, Result>(
  context: MarketsContext,
  query: HistoryQuery<Input, Result>,
  input: Input,
): Promise<Result> => {
  const { threads } = context.markets.history
  return threads ? threads.call<Result>(query.name, input, context.signal) : query.run(context, input)
}

/** By key, or by network without one. */
export const callerName = ({ keyId, network }: Caller): string =>
  keyId === anonymousId ? `from ${network}` : `key ${keyId}`
