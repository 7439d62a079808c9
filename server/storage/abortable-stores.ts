// The databases as one request uses them: the work ends with the signal of the request.
//
// 1. Each read and each write checks the signal before it begins. So at most the one that is running goes on after the
//    caller has left or the time limit was reached, whatever the code between the reads does.
// 2. A transaction that has begun is finished: what it writes is complete or absent, never cut short by a caller.
// 3. Reads yield to the event loop, so that a long request neither delays the others nor misses that its caller has left.
import { EventLoopYielder, statementSteps, yieldInOrder } from '#runtime/event-loop-yielder.ts'
import type { Duties, DutyQueries, DutyUpdates, InputOf, UpdateOptions } from './duties.ts'
import type { GroupWrite, RecentReader, State, StateReader, StateWriter, Value, WriteOptions } from './state.ts'

/** `signal` is read at the first use, because most requests need none. */
export interface Abortable {
  readonly signal: AbortSignal
  /** For the yields of rule 3. Default: that of the yielder. */
  readonly stepsPerYield?: number
}

class AbortableReader implements StateReader {
  readonly #reader: StateReader
  readonly #request: Abortable
  readonly #yielder: EventLoopYielder

  constructor(reader: StateReader, request: Abortable, yielder: EventLoopYielder) {
    this.#reader = reader
    this.#request = request
    this.#yielder = yielder
  }

  async get<R>(sql: string, ...values: Value[]): Promise<R | undefined> {
    this.#request.signal.throwIfAborted()
    const row = await this.#reader.get<R>(sql, ...values)
    await this.#yielder.spend(statementSteps + 1)
    return row
  }

  async all<R>(sql: string, ...values: Value[]): Promise<R[]> {
    this.#request.signal.throwIfAborted()
    const rows = await this.#reader.all<R>(sql, ...values)
    await this.#yielder.spend(statementSteps + rows.length)
    return rows
  }
}

/** In a snapshot, for which other requests may wait (event-loop-yielder.ts, rule 2). */
const inSnapshot =
  <T>(work: (reader: StateReader) => Promise<T>, request: Abortable) =>
  (reader: StateReader): Promise<T> =>
    work(new AbortableReader(reader, request, new EventLoopYielder(undefined, request.stepsPerYield)))

class AbortableState extends AbortableReader implements State {
  readonly engine: State['engine']
  readonly hasReplicas: boolean
  /** The same function for all requests, because caches recognise the database by it (version-cache.ts). */
  readonly version: State['version']
  readonly #state: State
  readonly #request: Abortable
  #recent: RecentReader | undefined

  constructor(state: State, request: Abortable) {
    super(state, request, new EventLoopYielder(yieldInOrder, request.stepsPerYield))
    this.engine = state.engine
    this.hasReplicas = state.hasReplicas ?? false
    this.version = state.version
    this.#state = state
    this.#request = request
  }

  get recent(): RecentReader {
    this.#recent ??= new AbortableRecentReader(this.#state, this.#request)
    return this.#recent
  }

  async write<T>(work: (tx: StateWriter) => Promise<T>, options?: WriteOptions): Promise<T> {
    this.#request.signal.throwIfAborted()
    return this.#state.write(work, options)
  }

  async writeTogether<Item, Result>(write: GroupWrite<Item, Result>, item: Item): Promise<Result> {
    this.#request.signal.throwIfAborted()
    return this.#state.writeTogether(write, item)
  }

  async snapshot<T>(work: (reader: StateReader) => Promise<T>): Promise<T> {
    const { signal } = this.#request
    signal.throwIfAborted()
    return this.#state.snapshot(inSnapshot(work, this.#request), signal)
  }

  async *each<R>(sql: string, ...values: Value[]): AsyncGenerator<R> {
    const { signal } = this.#request
    signal.throwIfAborted()
    for await (const row of this.#state.each<R>(sql, ...values)) {
      signal.throwIfAborted()
      yield row
    }
  }

  close(): Promise<void> {
    throw new Error('a request must not close the database')
  }
}

class AbortableRecentReader extends AbortableReader implements RecentReader {
  readonly #state: State
  readonly #request: Abortable

  constructor(state: State, request: Abortable) {
    super(state.recent, request, new EventLoopYielder(yieldInOrder, request.stepsPerYield))
    this.#state = state
    this.#request = request
  }

  async snapshot<T>(
    isRecent: (reader: StateReader) => Promise<boolean>,
    work: (reader: StateReader) => Promise<T>,
  ): Promise<T> {
    const { signal } = this.#request
    signal.throwIfAborted()
    return this.#state.recent.snapshot(isRecent, inSnapshot(work, this.#request), signal)
  }
}

export const abortableState = (state: State, request: Abortable): State => new AbortableState(state, request)

class AbortableDuties extends AbortableReader implements Duties {
  readonly engine: Duties['engine']
  readonly version: Duties['version']
  readonly #duties: Duties
  readonly #request: Abortable

  constructor(duties: Duties, request: Abortable) {
    super(duties, request, new EventLoopYielder(yieldInOrder, request.stepsPerYield))
    this.engine = duties.engine
    this.version = duties.version
    this.#duties = duties
    this.#request = request
  }

  async query<Name extends keyof DutyQueries>(name: Name, input: InputOf<DutyQueries[Name]>) {
    const { signal } = this.#request
    signal.throwIfAborted()
    return this.#duties.query(name, input, signal)
  }

  async update<Name extends keyof DutyUpdates>(
    name: Name,
    input: InputOf<DutyUpdates[Name]>,
    options: UpdateOptions = {},
  ) {
    this.#request.signal.throwIfAborted()
    return this.#duties.update(name, input, options)
  }

  close(): Promise<void> {
    throw new Error('a request must not close the database')
  }
}

export const abortableDuties = (duties: Duties, request: Abortable): Duties => new AbortableDuties(duties, request)
