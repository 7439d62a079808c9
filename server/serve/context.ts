// What every handler, loop and command works with. Groups add their caches to it (server/context.ts).
import type { Settings } from '#core/settings.ts'
import type { Clock } from '#io/clock.ts'
import type { Log } from '#io/log.ts'
import type { Random } from '#io/random.ts'
import type { Duties } from '#store/duties.ts'
import type { State } from '#store/state.ts'

export interface Context {
  readonly state: State
  readonly duties: Duties
  readonly settings: Settings
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
}
