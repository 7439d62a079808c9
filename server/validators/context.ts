// The caches of the validators group, and the context that its handlers get.
import type { Network } from '#api/contract/wire/validators.ts'
import type { Range } from '#core/ranges.ts'
import type { Context } from '#http/context.ts'
import type { StreamProgress } from '#ingest/stream-progress.ts'
import { cacheUntilVersionChanges } from '#storage/version-cache.ts'
import type { MissingPast } from './ingest/past/fill-past.ts'
import type { HeadPayload } from './ingest/provisional/head-payload.ts'
import type { HeadView } from './ingest/provisional/head-processor.ts'
import type { IngestRun, IngestStatus } from './ingest/status/ingest-status.ts'
import type { AlertSources } from './ingest/write/alert-sources.ts'
import type { ReadWatchFile } from './registry/watch-names.ts'
import type { NetworkCoverage } from './requests/coverage.ts'

export const createValidatorsCaches = () => ({
  /** Networks that this thread ingests. */
  runs: new Map<Network, IngestRun>(),
  /** Networks that this process ingests, on whichever thread. */
  ingestStatuses: new Map<Network, IngestStatus>(),
  /** By network: data that is not final. Only of networks that this process ingests, if configured. */
  provisional: new Map<Network, HeadView>(),
  /** By network: what the events of a node report about the payload of the newest block. */
  headPayloads: new Map<Network, HeadPayload>(),
  /** By network that this thread ingests, if it has a watch list. */
  examined: new Map<Network, AlertSources>(),
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
  /** By network: stores the configured rules of entities that have changed. */
  configuredRules: new Map<Network, () => Promise<void>>(),
})

/** The group does not use what requests write. */
export type ValidatorsContext = Omit<Context, 'state'> & {
  readonly validators: ReturnType<typeof createValidatorsCaches>
  readonly streams: StreamProgress
}
