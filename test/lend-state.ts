// A database whose connections outlive the test that uses it.
import type { State } from '#storage/state.ts'
import { closedFault } from '#storage/write-queue.ts'

/** After `close`, it accepts no more calls, and none is running. The given database stays open. */
export function lendState(state: State): State {
  let isClosed = false
  const running = new Set<Promise<unknown>>()
  const throwIfClosed = () => {
    if (isClosed) throw closedFault('the test database')
  }
  const track = async <T>(call: () => Promise<T>): Promise<T> => {
    throwIfClosed()
    const promise = call()
    running.add(promise)
    try {
      return await promise
    } finally {
      running.delete(promise)
    }
  }
  return {
    engine: state.engine,
    get: (sql, ...values) => track(() => state.get(sql, ...values)),
    all: (sql, ...values) => track(() => state.all(sql, ...values)),
    recent: {
      get: (sql, ...values) => track(() => state.recent.get(sql, ...values)),
      all: (sql, ...values) => track(() => state.recent.all(sql, ...values)),
      snapshot: (isRecent, work, signal) => track(() => state.recent.snapshot(isRecent, work, signal)),
    },
    write: (work, options) => track(() => state.write(work, options)),
    writeTogether: (write, item) => track(() => state.writeTogether(write, item)),
    snapshot: (work, signal) => track(() => state.snapshot(work, signal)),
    async *each(sql, ...values) {
      throwIfClosed()
      yield* state.each(sql, ...values)
    },
    version(group) {
      throwIfClosed()
      return state.version(group)
    },
    async close() {
      isClosed = true
      await Promise.allSettled(running)
    },
  }
}
