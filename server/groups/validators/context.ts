// What the validators group keeps in memory while the server runs.
import type { Network } from '#api/wire/validators.ts'
import type { Range } from '#core/ranges.ts'
import type { StreamProgress } from '#ingest/stream-progress.ts'
import type { Context } from '#serve/context.ts'
import { cacheUntilVersionChanges, type VersionCache } from '#store/version-cache.ts'
import type { windowsTrouble } from './duties/networks.ts'
import type { Run } from './ingest/runs.ts'
import type { Standing } from './standing.ts'

export interface ValidatorsCaches {
  /** The networks that this process follows. */
  readonly runs: Map<Network, Run>
  /** By network. */
  readonly coverage: VersionCache<Standing>
  /** By network and configured windows. */
  readonly windowTroubles: VersionCache<Awaited<ReturnType<typeof windowsTrouble>>>
  /** By network: epochs whose hours are stored. */
  readonly storedHours: VersionCache<readonly Range[]>
  /** By network. */
  readonly validatorCounts: VersionCache<number | undefined>
}

export type ValidatorsContext = Context & {
  readonly validators: ValidatorsCaches
  readonly streams: StreamProgress
}

export const createValidatorsCaches = (): ValidatorsCaches => ({
  runs: new Map(),
  coverage: cacheUntilVersionChanges(),
  windowTroubles: cacheUntilVersionChanges(),
  storedHours: cacheUntilVersionChanges(),
  validatorCounts: cacheUntilVersionChanges(),
})
