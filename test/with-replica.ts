// A database whose recent reads use another one, as a replica that may be behind.
import type { State } from '#storage/state.ts'
import { stateWith } from './authorization.ts'

/** `replicaReads` counts the snapshots of the replica that were recent enough. */
export function withReplica(state: State, replica: State) {
  let replicaReads = 0
  const recent: State['recent'] = {
    get: replica.get,
    all: replica.all,
    async snapshot(isRecent, work, signal) {
      const result = await replica.snapshot(async (reader) =>
        (await isRecent(reader)) ? { is: await work(reader) } : undefined,
      )
      if (!result) return state.snapshot(work, signal)
      replicaReads += 1
      return result.is
    },
  }
  return { state: stateWith(state, { recent, hasReplicas: true }), replicaReads: () => replicaReads }
}
