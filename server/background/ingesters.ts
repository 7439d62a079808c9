// The ingesters that run apart from HTTP: on a thread of their own in a server, on the same thread in most tests. Each of
// them runs in one of the processes that share a database (behaviour/operations.md#leases).
import type { Network } from '#api/contract/wire/validators.ts'
import { findChainFork, type NodeFork } from '#explorer/chain-forks.ts'
import { syncReverseIndexes } from '#explorer/extensions/reverse-lookups/reverse-lookups.ts'
import type { IndexProgress } from '#explorer/funding/index/index-chain.ts'
import { startChains } from '#explorer/funding/index/start-chains.ts'
import { runInOneProcess } from '#ingest/lease.ts'
import { startMarkets } from '#markets/feeds/start-markets.ts'
import { followLabelEntities } from '#operations/label-entities.ts'
import { startMarketMerges } from '#operations/market-merges.ts'
import { startMirror } from '#operations/mirror/start-mirror.ts'
import { startMarketRetention } from '#operations/retention.ts'
import type { Settings } from '#runtime/settings.ts'
import { entityNetworks, followRegistries } from '#validators/entities/registries/follow-registries.ts'
import { announceFork } from '#validators/extensions/alerts/announce-fork.ts'
import { createAlerts } from '#validators/extensions/alerts/start.ts'
import { startBeacon } from '#validators/ingest/start.ts'
import type { IngestStep } from '#validators/ingest/status/ingest-progress.ts'
import type { IngestContext } from '../context.ts'
import { type Notify, watchedNotices } from './notices.ts'

export interface IngestOptions {
  readonly dataDir: string
  readonly notify: Notify
  /** The problem of each node of a chain. */
  readonly onTroubles: (chain: string, troubles: readonly (string | undefined)[]) => void
  /** Names this process in its leases. */
  readonly holder: string
  /** Whether watched validators are examined (the extension alerts). */
  readonly hasAlerts: boolean
}

type IngestLoop = (signal: AbortSignal) => Promise<void>

/** Runs until the signal aborts, and resolves when all have ended. */
export async function runIngesters(context: IngestContext, options: IngestOptions, signal: AbortSignal): Promise<void> {
  const { notify, holder } = options
  await Promise.all(
    Object.entries(ingesters(context, options)).map(([ingester, work]) => {
      const reportHolding = (holds: boolean | undefined) => notify({ is: 'leased', ingester, holds })
      return runInOneProcess(context, { name: ingester, work, reportHolding, holder }, signal)
    }),
  )
}

function ingesters(
  context: IngestContext,
  { dataDir, notify, onTroubles, hasAlerts }: IngestOptions,
): Readonly<Record<string, IngestLoop>> {
  return {
    markets: (signal) => startMarkets(context, signal, (report) => notify({ is: 'feed', report })),
    history: async (signal) => {
      await Promise.all([startMarketRetention(context, signal), startMarketMerges(context, signal)])
    },
    chains: async (signal) => {
      await syncReverseIndexes(context.ingest, context.settings.explorer.reverseLookups)
      const onProgress = (chain: string) => {
        notify({ is: 'chain started', chain })
        return (progress: IndexProgress) => notify({ is: 'chain', chain, progress })
      }
      const onForks = async (chain: string, forks: readonly NodeFork[]) => {
        const fork = findChainFork(forks, context.clock.now())
        if (hasAlerts && fork) await announceFork(context, { chain, fork })
      }
      await startChains(context, signal, { onProgress, onTroubles, onForks })
    },
    beacon: async (signal) => {
      const alerts = hasAlerts ? createAlerts(context, watchedNotices(notify)) : undefined
      const onStep = (network: Network, step: IngestStep) => {
        notify({ is: 'network', network, step })
        alerts?.wake(network)
      }
      await Promise.all([startBeacon(context, signal, onStep, dataDir), alerts?.run(signal)])
    },
    ...Object.fromEntries(
      entityNetworks(context).map((network) => [
        `entities:${network}`,
        async (signal: AbortSignal) => {
          await Promise.all([followRegistries(context, network, signal), followLabelEntities(context, network, signal)])
        },
      ]),
    ),
    mirror: (signal) =>
      startMirror(context, signal, (outcome) => notify({ is: 'polled', source: 'mirror clickhouse', outcome })),
  }
}

/** Whether there is anything to ingest. */
export const hasSources = ({ explorer, markets, mirrors, validators }: Settings): boolean =>
  explorer.chains.some(({ rpc }) => rpc.length > 0) ||
  markets.feeds.length > 0 ||
  mirrors.clickhouse.url !== '' ||
  Object.values(validators.networks).some(({ beacon }) => beacon.urls.length > 0)
