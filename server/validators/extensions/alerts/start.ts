// Starts the alerts of a server: one loop per network with a watch list examines new epochs and updates the metrics, and
// one loop per webhook sends what it has to get. They run under the lease of the beacon ingester, so that only one of
// several servers sends.
import type { Network } from '#api/contract/wire/validators.ts'
import { logOutcome, poll, WakeSignal } from '#ingest/poll.ts'
import { hasWatchList, networkSettings, networksOf } from '#runtime/settings/validators.ts'
import type { WatchedMetrics } from '#runtime/watched-metrics.ts'
import { openBeacon } from '#sources/beacon/client.ts'
import { runSenders } from '#webhooks/send.ts'
import type { ValidatorsContext } from '../../context.ts'
import { coveredEpochs } from '../../duties/coverage.ts'
import { plainTime } from '../../duties/layout.ts'
import type { MissedDuty } from '../../duties/missed.ts'
import { requiredChain } from '../../ingest/read/chain-identity.ts'
import { announceFork } from './announce-fork.ts'
import { createBlockCheck } from './check-blocks.ts'
import { lastCompleteHour, readDayFigures } from './day-figures.ts'
import { alertDeliveries } from './deliveries.ts'
import { type ExamineContext, type ExaminedEpochs, examineEpochs } from './examine-epochs.ts'
import { examineHead } from './examine-head.ts'
import { type ExaminedProgrammes, examineProgrammes } from './examine-programmes.ts'
import { depositQueueEpoch, type QueueEpoch, registryQueues } from './queues.ts'
import { assignSeries, countBelow, countMissed, countStatuses } from './series.ts'
import { createUpcomingProposals, type ReadUpcoming } from './upcoming-proposals.ts'
import { readWatchedValidators, type WatchedValidator } from './watched-validators.ts'

const examineEveryMs = 12_000
const examineTimeoutMs = 600_000
const backoffMaxMs = 60_000

export interface Alerts {
  /** Call this when epochs of the network were stored. */
  wake(network: Network): void
  /** Runs until the signal aborts. Resolves at once if no network has a watch list, and no chain a node. */
  run(signal: AbortSignal): Promise<void>
}

export function createAlerts(context: ValidatorsContext, metrics: WatchedMetrics): Alerts {
  const { groups, validators, explorer } = context.settings
  const hasChains = groups.explorer.enabled && explorer.chains.some(({ rpc }) => rpc.length > 0)
  const isWatched = (network: Network) => {
    const settings = networkSettings(context.settings, network)
    return groups.validators.enabled && settings.beacon.urls.length > 0 && hasWatchList(settings)
  }
  const examineWakes = new Map(
    networksOf(context.settings)
      .filter(isWatched)
      .map((network) => [network, new WakeSignal()]),
  )
  return {
    wake: (network) => examineWakes.get(network)?.wake(),
    async run(signal) {
      if (examineWakes.size === 0) {
        if (validators.webhooks.length > 0)
          context.log.warn(
            {},
            'webhooks get no events of validators: set validators.networks.<name>.watch and beacon.urls',
          )
        // Forks of chains are announced by the ingester of chains.
        if (!hasChains || validators.webhooks.length === 0) return
      }
      const sendWakes = new Map(validators.webhooks.map((webhook) => [webhook, new WakeSignal()]))
      const wakeSenders = () => {
        for (const wake of sendWakes.values()) wake.wake()
      }
      const examining = [...examineWakes].map(([network, wake]) =>
        examineNetwork(context, metrics, network, { wake, wakeSenders }, signal),
      )
      const sending = runSenders(context, alertDeliveries(context.ingest), sendWakes, metrics.addDelivery, signal)
      try {
        await Promise.all([...examining, sending])
      } finally {
        metrics.clear()
      }
    },
  }
}

async function examineNetwork(
  context: ValidatorsContext,
  metrics: WatchedMetrics,
  network: Network,
  { wake, wakeSenders }: { readonly wake: WakeSignal; readonly wakeSenders: () => void },
  signal: AbortSignal,
): Promise<void> {
  const { settings, clock } = context
  const time = networkSettings(settings, network)
  const { urls, timeoutMs } = time.beacon
  const identity = await requiredChain(context, network)
  const beacon = openBeacon({ network, urls, timeoutMs, clock, identity })
  const checkBlocks = createBlockCheck(context, network, beacon)
  const figures = createNetworkFigures(context, metrics, network)
  const readUpcoming = createUpcomingProposals(beacon, time, clock)
  await poll(
    context,
    {
      everyMs: examineEveryMs,
      timeoutMs: examineTimeoutMs,
      backoffMaxMs,
      wakeSignal: wake,
      work: async (stop) => {
        for (;;) {
          const examined = await examineEpochs(context, network, { checkBlocks, signal: stop })
          if (!examined) break
          figures.addExamined(examined)
          if (examined.deliveries > 0) wakeSenders()
        }
        const fork = context.validators.ingestStatuses.get(network)?.nextFork
        if (fork && (await announceFork(context, { network, fork }))) wakeSenders()
        await figures.update(readUpcoming, stop)
        const programmes = await figures.updateProgrammes(stop)
        if (programmes && programmes.deliveries > 0) wakeSenders()
        const head = await examineHead(context, network, figures.watched(), stop)
        if (head && head.deliveries > 0) wakeSenders()
        figures.setHead(head?.missed)
        const sources = context.validators.examined.get(network)
        const { rules } = await beacon.chain(stop)
        await figures.updateQueues(sources && depositQueueEpoch(rules, sources, time.watch))
      },
      report: (outcome) => logOutcome(context, outcome, { network }, pollTexts('alerts')),
    },
    signal,
  )
}

/** Keeps the metrics of a network up to date. */
export function createNetworkFigures(context: ExamineContext, metrics: WatchedMetrics, network: Network) {
  const { duties, settings } = context
  const time = plainTime(networkSettings(settings, network))
  let watched: ReadonlyMap<number, WatchedValidator> = new Map()
  let dayHour = -1
  let programmeDay = -1
  const readUntil = async () => (await coveredEpochs(duties, network)).at(-1)?.until ?? 0
  return {
    /** As of the last update. */
    watched: () => watched,

    /** Undefined: nothing is known about the head. */
    setHead(missed: readonly MissedDuty[] | undefined): void {
      const counts = missed ? countMissed(watched, missed) : []
      metrics.setHead(
        network,
        counts.filter(({ duty }) => duty === 'attestation' || duty === 'block'),
      )
    },

    addExamined({ missed, epochs, blockProblems, ...examined }: ExaminedEpochs): void {
      watched = examined.watched
      metrics.addMissed(network, countMissed(watched, missed, blockProblems))
      metrics.setExamined(network, epochs.until - 1)
      metrics.setStatuses(network, countStatuses(watched, epochs.until - 1))
    },

    async update(readUpcoming: ReadUpcoming, signal: AbortSignal): Promise<void> {
      const until = await readUntil()
      if (watched.size === 0) {
        watched = await readWatchedValidators(context, network)
        // Prometheus does not count the first value of a series as an increase, so that it must be 0.
        metrics.addMissed(network, countMissed(watched, []))
        metrics.setStatuses(network, countStatuses(watched, until - 1))
      }
      const lastHour = lastCompleteHour(time, until)
      if (lastHour > dayHour && watched.size > 0) {
        metrics.setDay(network, await readDayFigures(duties, { network, time, watched, lastHour }, signal))
        dayHour = lastHour
      }
      const proposals = await readUpcoming(signal)
      const seriesOf = assignSeries(watched)
      const due = Map.groupBy(
        (proposals ?? []).filter(({ validator }) => watched.has(validator)),
        ({ validator }) => seriesOf(validator),
      )
      const all = new Set([...watched.keys()].map(seriesOf))
      const counts = [...all].map((series) => ({ ...series, count: due.get(series)?.length ?? 0 }))
      metrics.setUpcoming(network, proposals ? counts : [])
    },

    /** Once per chain day. Undefined: there is nothing new. */
    async updateProgrammes(signal: AbortSignal): Promise<ExaminedProgrammes | undefined> {
      const examined = await examineProgrammes(context, network, watched, { after: programmeDay, signal })
      if (!examined) return undefined
      programmeDay = examined.day
      metrics.setProgrammes(network, countBelow(watched, examined.programmes))
      return examined
    },

    /** `depositEpoch`: when the last deposit of the watch list is applied. Undefined: there is none. */
    async updateQueues(depositEpoch: number | undefined): Promise<void> {
      const until = await readUntil()
      const labels = { pool: 'none', operator: 'none', queue: 'deposit' } as const
      const queued: QueueEpoch[] = depositEpoch === undefined ? [] : [{ ...labels, epoch: depositEpoch }]
      metrics.setQueues(network, [...registryQueues(watched, until - 1), ...queued])
    },
  }
}

const pollTexts = (what: string) => ({ failed: `${what}: failed; will retry`, recovered: `${what}: working again` })
