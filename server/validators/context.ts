// What the validators group keeps in memory while the server runs.
import type { Network } from '#api/wire/validators.ts'
import type { Range } from '#core/ranges.ts'
import type { Context } from '#http/context.ts'
import type { StreamProgress } from '#ingest/stream-progress.ts'
import { cacheUntilVersionChanges, type VersionCache } from '#storage/version-cache.ts'
import type { describeWindowsMismatch } from './duties/networks.ts'
import type { IngestRun } from './ingest/ingest-status.ts'
import type { NetworkCoverage } from './ratings/coverage.ts'

export interface ValidatorsCaches {
  /** The networks that this process follows. */
  readonly runs: Map<Network, IngestRun>
  /** By network. */
  readonly coverage: VersionCache<NetworkCoverage>
  /** By network and configured windows. */
  readonly windowTroubles: VersionCache<Awaited<ReturnType<typeof describeWindowsMismatch>>>
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
