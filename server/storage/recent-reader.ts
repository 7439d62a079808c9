// Reads of `State.recent` without replicas: nothing is behind (storage/state.ts, rule 8).
import type { RecentReader, State } from './state.ts'

export const readCurrent = ({ get, all, snapshot }: Pick<State, 'get' | 'all' | 'snapshot'>): RecentReader => ({
  get,
  all,
  snapshot: (_isRecent, work, signal) => snapshot(work, signal),
})
