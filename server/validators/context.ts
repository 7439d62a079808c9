// The caches of the validators group, and the context that its handlers get.
import type { Network } from '#api/wire/validators.ts'
import type { Range } from '#core/ranges.ts'
import type { Context } from '#http/context.ts'
import type { StreamProgress } from '#ingest/stream-progress.ts'
import { cacheUntilVersionChanges, type VersionCache } from '#storage/version-cache.ts'
import type { describeWindowsMismatch } from './duties/networks.ts'
import type { MissingPast } from './ingest/fill-past.ts'
import type { IngestRun } from './ingest/ingest-status.ts'
import type { HeadView } from './provisional/head-processor.ts'
import type { NetworkCoverage } from './ratings/coverage.ts'
import type { EntityRatings } from './ratings/entity-ratings.ts'
import type { WatchFile } from './registry/watch-names.ts'

export interface ValidatorsCaches {
  /** Networks that this process ingests. */
  readonly runs: Map<Network, IngestRun>
  /** By network: data that is not final. Only of networks that this process ingests, if configured. */
  readonly provisional: Map<Network, HeadView>
  /** By network. */
  readonly coverage: VersionCache<NetworkCoverage>
  /** By network and configured windows. */
  readonly windowsMismatches: VersionCache<Awaited<ReturnType<typeof describeWindowsMismatch>>>
  /** By network: epochs whose hours are stored. */
  readonly storedHours: VersionCache<readonly Range[]>
  /** By network. */
  readonly validatorCounts: VersionCache<number | undefined>
  /** By network: what is missing of the past of validators that were added to the watch list. */
  readonly missingPast: VersionCache<MissingPast>
  /** By network. */
  readonly watchFiles: Map<Network, WatchFile>
  /** By network, kind, period and version of the entities. */
  readonly entityRatings: VersionCache<EntityRatings>
}

export type ValidatorsContext = Context & {
  readonly validators: ValidatorsCaches
  readonly streams: StreamProgress
}

export const createValidatorsCaches = (): ValidatorsCaches => ({
  runs: new Map(),
  provisional: new Map(),
  coverage: cacheUntilVersionChanges(),
  windowsMismatches: cacheUntilVersionChanges(),
  storedHours: cacheUntilVersionChanges(),
  validatorCounts: cacheUntilVersionChanges(),
  missingPast: cacheUntilVersionChanges(),
  watchFiles: new Map(),
  entityRatings: cacheUntilVersionChanges(),
})
