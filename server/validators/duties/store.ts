// Opens the duties database (port: server/storage/duties.ts): on the current thread for commands and tests, or with
// threads for queries and one for updates, as a server does.
import { openThreadPool } from '#runtime/thread-pool.ts'
import { coreCount, openThread } from '#runtime/worker-thread.ts'
import type { Duties } from '#storage/duties.ts'
import { connectionsDefault, type StoreOptions } from '#storage/open.ts'
import type { State } from '#storage/state.ts'
import { runQuery, runUpdate } from './operations.ts'
import type { SumInput } from './record-sums.ts'
import { sumDivided } from './sum-divided.ts'
import type { DutiesHandlers } from './thread.ts'

const ownReads = ({ engine, get, all, version }: State): Pick<Duties, 'engine' | 'get' | 'all' | 'version'> => ({
  engine,
  get,
  all,
  version,
})

/** On the current thread. The caller closes `state`. */
export const dutiesOnThisThread = (state: State): Duties => ({
  ...ownReads(state),
  query: (name, input, signal) => runQuery(state, name, input, signal),
  update: (name, input, options) => runUpdate(state, name, input, options),
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
  const readers = openThreadPool<DutiesHandlers>(file, withConnections(location, readersCount), {
    threads: readersCount,
  })
  const writer = openThread<DutiesHandlers>(file, withConnections(location, Number.POSITIVE_INFINITY), {
    isBackground: true,
    idleMs: writerIdleMs,
  })
  const query: Duties['query'] = (name, input, signal) =>
    readers.call('query', { name, input }, signal) as ReturnType<Duties['query']> as never
  const sum = (part: SumInput, signal?: AbortSignal) => query('sumRecords', part, signal)
  return {
    ...ownReads(state),
    query: (name, input, signal) =>
      name === 'sumRecords'
        ? (sumDivided(state, input as SumInput, readersCount, (part) => sum(part, signal)) as never)
        : query(name, input, signal),
    update: (name, input, { signal, transfer, lease } = {}) =>
      writer.call('update', { name, input, lease }, signal, transfer) as never,
    close: async () => {
      await Promise.all([readers.close(), writer.close()])
    },
  }
}
