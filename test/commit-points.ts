// Calls a function before and after every commit of the stores, for tests that kill a process there.
import type { Stores } from '#storage/open.ts'

/** `open`: all statements of a transaction have run, but it is not committed yet. */
export type CommitPoint = 'open' | 'committed'

type Work = (tx: unknown) => Promise<unknown>

export function atCommits(stores: Stores, onPoint: (point: CommitPoint) => void): Stores {
  const state = withPoints(stores.state, onPoint)
  // On PostgreSQL they are one object.
  const ingest = stores.ingest === stores.state ? state : withPoints(stores.ingest, onPoint)
  return { ...stores, state, ingest, duties: withPoints(stores.duties, onPoint) }
}

/** One store. */
export function withPoints<S extends object>(store: S, onPoint: (point: CommitPoint) => void): S {
  return new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target)
      if (typeof member !== 'function') return member
      if (name !== 'write') return member.bind(target)
      return async (work: Work, ...options: unknown[]) => {
        const withPoint: Work = async (tx) => {
          const result = await work(tx)
          onPoint('open')
          return result
        }
        const result = await member.call(target, withPoint, ...options)
        onPoint('committed')
        return result
      }
    },
  })
}
