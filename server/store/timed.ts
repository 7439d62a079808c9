// The same stores, with the time and the end of every operation told to whoever watches.
import type { Clock } from '#io/clock.ts'
import type { Cell, Facts, Lists } from './facts.ts'
import type { State, Value } from './state.ts'

/** With what was thrown, if it failed. */
export type TellTime = (port: 'state' | 'facts', operation: string, tookMs: number, error?: unknown) => void

export function timedState(state: State, clock: Clock, tell: TellTime): State {
  const timed = timer(clock, (...told) => tell('state', ...told))
  return {
    engine: state.engine,
    get: <R>(sql: string, ...values: Value[]) => timed('get', () => state.get<R>(sql, ...values)),
    all: <R>(sql: string, ...values: Value[]) => timed('all', () => state.all<R>(sql, ...values)),
    recent: {
      get: <R>(sql: string, ...values: Value[]) => timed('recent', () => state.recent.get<R>(sql, ...values)),
      all: <R>(sql: string, ...values: Value[]) => timed('recent', () => state.recent.all<R>(sql, ...values)),
    },
    write: (work, options) => timed('write', () => state.write(work, options)),
    // How long a walk takes is up to the one who walks.
    each: <R>(sql: string, ...values: Value[]) => state.each<R>(sql, ...values),
    version: () => state.version(),
    close: () => state.close(),
  }
}

export function timedFacts(facts: Facts, clock: Clock, tell: TellTime): Facts {
  const timed = timer(clock, (...told) => tell('facts', ...told))
  return {
    engine: facts.engine,
    query: <R>(sql: string, values?: readonly Cell[], lists?: Lists) =>
      timed('query', () => facts.query<R>(sql, values, lists)),
    aside: {
      engine: facts.engine,
      query: <R>(sql: string, values?: readonly Cell[], lists?: Lists) =>
        timed('aside', () => facts.aside.query<R>(sql, values, lists)),
    },
    now: async (signal) => {
      const moment = await facts.now(signal)
      return {
        engine: facts.engine,
        query: <R>(sql: string, values?: readonly Cell[], lists?: Lists) =>
          timed('query', () => moment.query<R>(sql, values, lists)),
      }
    },
    write: (work) => timed('write', () => facts.write(work)),
    version: () => facts.version(),
    close: () => facts.close(),
  }
}

function timer(clock: Clock, tell: (operation: string, tookMs: number, error?: unknown) => void) {
  return <T>(operation: string, work: () => Promise<T>): Promise<T> => {
    const startMs = clock.monotonicMs()
    const tookMs = () => clock.monotonicMs() - startMs
    const promise = work()
    promise.then(
      () => tell(operation, tookMs()),
      (error) => tell(operation, tookMs(), error),
    )
    return promise
  }
}
