// The caches of the validators group, and the context that its handlers get.
import type { Network } from '#api/contract/wire/validators.ts'
import type { Range } from '#core/ranges.ts'
import type { Context } from '#http/context.ts'
import type { StreamProgress } from '#ingest/stream-progress.ts'
import { cacheUntilVersionChanges } from '#storage/version-cache.ts'
import type { MissingPast } from './ingest/fill-past.ts'
import type { IngestRun, IngestStatus } from './ingest/ingest-status.ts'
import type { HeadPayload } from './provisional/head-payload.ts'
import type { HeadView } from './provisional/head-processor.ts'
import type { NetworkCoverage } from './ratings/coverage.ts'
import type { EntityRatings } from './ratings/entity-ratings.ts'
import type { ReadWatchFile } from './registry/watch-names.ts'

export const createValidatorsCaches = () => ({
  /** Networks that this thread ingests. */
  runs: new Map<Network, IngestRun>(),
  /** Networks that this process ingests, on whichever thread. */
  ingestStatuses: new Map<Network, IngestStatus>(),
  /** By network: data that is not final. Only of networks that this process ingests, if configured. */
  provisional: new Map<Network, HeadView>(),
  /** By network: what the events of a node report about the payload of the newest block. */
  headPayloads: new Map<Network, HeadPayload>(),
  /** By network. */
  coverage: cacheUntilVersionChanges<NetworkCoverage>(),
  /** By network and configured windows. */
  windowsMismatches: cacheUntilVersionChanges<string | undefined>(),
  /** By network: epochs whose hours are stored. */
  storedHours: cacheUntilVersionChanges<readonly Range[]>(),
  /** By network. */
  validatorCounts: cacheUntilVersionChanges<number | undefined>(),
  /** By network: what is missing of the past of validators that were added to the watch list. */
  missingPast: cacheUntilVersionChanges<MissingPast>(),
  /** By network. */
  watchFiles: new Map<Network, ReadWatchFile>(),
  /** By network, kind, period and version of the entities. */
  entityRatings: cacheUntilVersionChanges<EntityRatings>(),
})

/** The group does not use what requests write. */
export type ValidatorsContext = Omit<Context, 'state'> & {
  readonly validators: ReturnType<typeof createValidatorsCaches>
  readonly streams: StreamProgress
}
