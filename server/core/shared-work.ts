// Work that several callers wait for at the same time, such as filling a cache. It ends when the caller that started it
// leaves or runs out of time. Those that still wait start it again.
import { Fault } from './fault.ts'

/** Whether work ended because the request that started it has ended. */
export const isRequestEnd = (error: unknown): boolean => error instanceof Fault && error.code === 'server.timeout'

/** The result of work that another caller has started; `restart` starts it anew. */
export const joinWork = <T>(work: Promise<T>, restart: () => Promise<T> | T): Promise<T> =>
  work.catch((error: unknown) => {
    if (isRequestEnd(error)) return restart()
    throw error
  })
