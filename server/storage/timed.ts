// Wraps the databases to report duration and result of every operation, for metrics and health checks.
import type { Clock } from '#runtime/clock.ts'
import type { Duties } from './duties.ts'
import type { State, Value } from './state.ts'

export type StoreName = 'state' | 'ingest' | 'duties'

/** `error` is what was thrown, if the operation failed. */
export type ReportTime = (store: StoreName, operation: string, tookMs: number, error?: unknown) => void

export function timedState(state: State, clock: Clock, report: ReportTime, name: 'state' | 'ingest' = 'state'): State {
  const timed = timer(clock, (...reportState) => report(name, ...reportState))
  return {
    // The duration of `each` depends on its consumer, so it is not measured.
    ...state,
    get: <R>(sql: string, ...values: Value[]) => timed('get', () => state.get<R>(sql, ...values)),
    all: <R>(sql: string, ...values: Value[]) => timed('all', () => state.all<R>(sql, ...values)),
    recent: {
      get: <R>(sql: string, ...values: Value[]) => timed('recent', () => state.recent.get<R>(sql, ...values)),
      all: <R>(sql: string, ...values: Value[]) => timed('recent', () => state.recent.all<R>(sql, ...values)),
      snapshot: (isRecent, work, signal) => timed('recent', () => state.recent.snapshot(isRecent, work, signal)),
    },
    write: (work, options = {}) => {
      const onLockWait = (waitedMs: number) => report(name, `lock:${options.lock}`, waitedMs)
      return timed('write', () => state.write(work, { ...options, onLockWait }))
    },
    writeTogether: (write, item) => timed('write', () => state.writeTogether(write, item)),
    snapshot: (work, signal) => timed('snapshot', () => state.snapshot(work, signal)),
  }
}

export function timedDuties(duties: Duties, clock: Clock, report: ReportTime): Duties {
  const timed = timer(clock, (...reportDuties) => report('duties', ...reportDuties))
  return {
    ...duties,
    get: <R>(sql: string, ...values: Value[]) => timed('get', () => duties.get<R>(sql, ...values)),
    all: <R>(sql: string, ...values: Value[]) => timed('all', () => duties.all<R>(sql, ...values)),
    query: (name, input, signal) => timed('query', () => duties.query(name, input, signal)),
    update: (name, input, options) => timed('write', () => duties.update(name, input, options)),
  }
}

function timer(clock: Clock, report: (operation: string, tookMs: number, error?: unknown) => void) {
  return <T>(operation: string, work: () => Promise<T>): Promise<T> => {
    const startMs = clock.monotonicMs()
    const tookMs = () => clock.monotonicMs() - startMs
    const promise = work()
    promise.then(
      () => report(operation, tookMs()),
      (error) => report(operation, tookMs(), error),
    )
    return promise
  }
}
