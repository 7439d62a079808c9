// The context that every handler, ingester and command gets. Groups add their caches (server/context.ts).
import type { Clock } from '#runtime/clock.ts'
import type { Log } from '#runtime/log.ts'
import type { ProvenTime } from '#runtime/proven-time.ts'
import type { Random } from '#runtime/random.ts'
import type { Settings } from '#runtime/settings.ts'
import type { Duties } from '#storage/duties.ts'
import type { State } from '#storage/state.ts'

export interface Context {
  /** What requests write: keys, usage, sessions, rates, quotes. */
  readonly state: State
  /** What ingesters write: labels, fundings, markets, registry. On PostgreSQL the same object as `state`. */
  readonly ingest: State
  readonly duties: Duties
  readonly settings: Settings
  readonly clock: Clock
  /** What deletions and expiries compare with. */
  readonly provenTime: ProvenTime
  readonly random: Random
  readonly log: Log
  /** Of the request that this context is for (request-context.ts). Ingesters and commands have none. */
  readonly signal?: AbortSignal
}
