// What ingesters report to the thread that handles requests: for the metrics and the console, and copies of what they
// keep in memory. Plain values, because they are sent between threads.
import type { Network } from '#api/contract/wire/validators.ts'
import type { IndexProgress } from '#explorer/funding/index/index-chain.ts'
import type { FeedReport } from '#markets/feeds/start-markets.ts'
import type { Metrics } from '#runtime/metrics.ts'
import type { WatchedMetrics } from '#runtime/watched-metrics.ts'
import type { IngestStep } from '#validators/ingest/status/ingest-progress.ts'
import type { IngestContext } from '../context.ts'

export type Notice =
  /** Whether this process runs an ingester. Undefined: no process does, because there is nothing to do. */
  | { readonly is: 'leased'; readonly ingester: string; readonly holds: boolean | undefined }
  /** One poll of a source ended. */
  | { readonly is: 'polled'; readonly source: string; readonly outcome: string }
  | { readonly is: 'feed'; readonly report: FeedReport }
  | { readonly is: 'chain started'; readonly chain: string }
  | { readonly is: 'chain'; readonly chain: string; readonly progress: IndexProgress }
  | { readonly is: 'network'; readonly network: Network; readonly step: IngestStep }
  /** A call of the metrics of watched validators. */
  | { readonly is: 'watched'; readonly method: keyof WatchedMetrics; readonly args: readonly unknown[] }

export type Notify = (notice: Notice) => void

/** The console's view of the progress (server/admin/progress.ts). */
export interface NoticeBoard {
  chain(id: string): (progress: IndexProgress) => void
  network(network: string, step: IngestStep): void
  feed(report: FeedReport): void
}

/** Receives notices for the metrics and the console. */
export function createNoticeReceiver(metrics: Metrics, board: NoticeBoard): Notify {
  const chains = new Map<string, (progress: IndexProgress) => void>()
  return (notice) => {
    switch (notice.is) {
      case 'leased':
        return metrics.leased(notice.ingester, notice.holds)
      case 'polled':
        return metrics.ingested(notice.source, notice.outcome)
      case 'feed': {
        const { report } = notice
        if (report.is !== 'page') metrics.ingested(report.source, report.is)
        return board.feed(report)
      }
      case 'chain started':
        return void chains.set(notice.chain, board.chain(notice.chain))
      case 'chain':
        return chains.get(notice.chain)?.(notice.progress)
      case 'network': {
        const { network, step } = notice
        metrics.unexplained(network, step.unexplainedBalanceChanges.validators)
        return board.network(network, step)
      }
      case 'watched':
        return (metrics.watched[notice.method] as (...args: readonly unknown[]) => void)(...notice.args)
    }
  }
}

const watchedMethods = [
  ...(['addMissed', 'setExamined', 'setHead', 'setStatuses', 'setDay'] as const),
  ...(['setUpcoming', 'setQueues', 'addDelivery', 'clear'] as const),
] satisfies readonly (keyof WatchedMetrics)[]

/** The metrics of watched validators, as notices. */
export const watchedNotices = (notify: Notify): WatchedMetrics =>
  Object.fromEntries(
    watchedMethods.map((method) => [method, (...args: unknown[]) => notify({ is: 'watched', method, args })]),
  ) as unknown as WatchedMetrics

/** The maps of the context that ingesters write and requests read. */
export const sharedMaps = ({ explorer, validators, streams }: IngestContext) => ({
  indexProblems: explorer.indexProblems as Map<string, unknown>,
  ingestStatuses: validators.ingestStatuses as Map<string, unknown>,
  provisional: validators.provisional as Map<string, unknown>,
  headPayloads: validators.headPayloads as Map<string, unknown>,
  steps: streams.stepMs as Map<string, unknown>,
  troubles: explorer.reportedTroubles as Map<string, unknown>,
  forks: explorer.forks as Map<string, unknown>,
})

export type SharedMap = keyof ReturnType<typeof sharedMaps>
