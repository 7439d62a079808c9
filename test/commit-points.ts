// Calls a function at every commit of the stores, for tests that end a process there. The only one of these tests' files that knows
// how a store commits.
import type { Stores } from '#storage/open.ts'

/** `open`: everything of a transaction has been written, and it is not committed yet. */
export type CommitPoint = 'open' | 'committed'

type Work = (tx: unknown) => Promise<unknown>

export const atCommits = (stores: Stores, onPoint: (point: CommitPoint) => void): Stores => ({
  ...stores,
  state: withPoints(stores.state, onPoint),
  duties: withPoints(stores.duties, onPoint),
})

function withPoints<S extends object>(store: S, onPoint: (point: CommitPoint) => void): S {
  return new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target)
      if (typeof member !== 'function') return member
      if (name !== 'write') return member.bind(target)
      return async (work: Work, ...options: unknown[]) => {
        const whole: Work = async (tx) => {
          const result = await work(tx)
          onPoint('open')
          return result
        }
        const result = await member.call(target, whole, ...options)
        onPoint('committed')
        return result
      }
    },
  })
}
