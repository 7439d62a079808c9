// Opens the duties database (port: server/storage/duties.ts): on the current thread for commands and tests, or with
// threads for queries and one for updates, as a server does.
import { openThreadPool } from '#runtime/thread-pool.ts'
import { coreCount, openThread } from '#runtime/worker-thread.ts'
import type { Duties, UpdateOptions } from '#storage/duties.ts'
import { connectionsDefault, type StoreOptions } from '#storage/open.ts'
import type { State } from '#storage/state.ts'
import type { SummarizeInput } from './daily-summaries.ts'
import type { MergeInput } from './merge.ts'
import { type Queries, runQuery, runUpdate, type Updates } from './operations.ts'
import type { RecordSums, SumInput } from './record-sums.ts'
import { sumDivided } from './sum-divided.ts'

/** Runs a query by name, with the types of its input and result. */
export const queryDuties = <N extends keyof Queries>(
  duties: Duties,
  name: N,
  input: Parameters<Queries[N]>[1],
  signal?: AbortSignal,
): Promise<Awaited<ReturnType<Queries[N]>>> => duties.query(name, input, signal)

export const updateDuties = <N extends keyof Updates>(
  duties: Duties,
  name: N,
  input: Parameters<Updates[N]>[1],
  options?: UpdateOptions,
): Promise<Awaited<ReturnType<Updates[N]>>> => duties.update(name, input, options)

export const mergeDuties = (duties: Duties, input: MergeInput, signal: AbortSignal): Promise<number> =>
  duties.update('mergeSpans', input, { signal })

export const summarizeDuties = (duties: Duties, input: SummarizeInput, signal: AbortSignal): Promise<number> =>
  duties.update('summarizeDays', input, { signal })

const ownReads = ({ engine, get, all, version }: State): Pick<Duties, 'engine' | 'get' | 'all' | 'version'> => ({
  engine,
  get,
  all,
  version,
})

/** On the current thread. The caller closes `state`. */
export const dutiesOnThisThread = (state: State): Duties => ({
  ...ownReads(state),
  query: async <T>(name: string, input: unknown, signal?: AbortSignal) =>
    (await runQuery(state, name, input, signal)) as T,
  update: async <T>(name: string, input: unknown, options?: UpdateOptions) =>
    (await runUpdate(state, name, input, options)) as T,
  close: async () => {},
})

/** What a thread opens the database with. */
export interface DutiesLocation {
  readonly dir: string
  readonly options: StoreOptions
}

/** Threads for queries. A large query is divided among them. */
const readersMax = 4
/** More than a segment of a million validators takes, so that the thread stays while epochs of the past are read. */
const writerIdleMs = 60_000

/** On PostgreSQL, the threads share the connections for reads, but each has at least two (docs/scaling.md#connections). */
const withConnections = ({ dir, options }: DutiesLocation, threads: number): DutiesLocation => ({
  dir,
  options: {
    ...options,
    stateConnections: Math.max(2, Math.ceil((options.stateConnections ?? connectionsDefault) / threads)),
  },
})

/** Threads start with their first call. The caller closes `state` after the result. */
export function dutiesOnThreads(
  state: State,
  location: DutiesLocation,
  readersCount = Math.min(readersMax, coreCount()),
): Duties {
  const file = new URL('./thread.ts', import.meta.url)
  const readers = openThreadPool(file, withConnections(location, readersCount), { threads: readersCount })
  const writer = openThread(file, withConnections(location, Number.POSITIVE_INFINITY), {
    isBackground: true,
    idleMs: writerIdleMs,
  })
  const query = <T>(name: string, input: unknown, signal?: AbortSignal): Promise<T> =>
    readers.call<T>('query', { name, input }, signal)
  return {
    ...ownReads(state),
    query: async <T>(name: string, input: unknown, signal?: AbortSignal) => {
      if (name !== 'sumRecords') return query<T>(name, input, signal)
      const sum = (part: SumInput) => query<RecordSums>(name, part, signal)
      return (await sumDivided(state, input as SumInput, readersCount, sum)) as T
    },
    update: (name, input, { signal, transfer, lease } = {}) =>
      writer.call('update', { name, input, lease }, signal, transfer),
    close: async () => {
      await Promise.all([readers.close(), writer.close()])
    },
  }
}
