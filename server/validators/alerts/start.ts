// Starts the alerts of a server: one loop per network with a watch list examines new epochs and updates the metrics, and
// one loop sends what the webhooks have to get. They run under the lease of the beacon ingester, so that only one of
// several servers sends.
import { type Network, networks } from '#api/wire/validators.ts'
import { type PollOutcome, poll, WakeSignal } from '#ingest/poll.ts'
import { hasWatchList } from '#runtime/settings/validators.ts'
import type { WatchedMetrics } from '#runtime/watched-metrics.ts'
import { openBeacon } from '#sources/beacon/client.ts'
import type { ValidatorsContext } from '../context.ts'
import { coveredEpochs } from '../duties/coverage.ts'
import { plainTime } from '../duties/layout.ts'
import type { MissedDuty } from '../duties/missed.ts'
import { storedChain } from '../duties/networks.ts'
import { createBlockCheck } from './check-blocks.ts'
import { lastCompleteHour, readDayFigures } from './day-figures.ts'
import { type ExaminedEpochs, examineEpochs } from './examine-epochs.ts'
import { examineHead } from './examine-head.ts'
import { DepositQueue, type QueueEpoch, registryQueues } from './queues.ts'
import { sendDueDeliveries } from './send.ts'
import { assignSeries, countMissed, countStatuses } from './series.ts'
import { UpcomingProposals } from './upcoming-proposals.ts'
import { readWatchedValidators, type WatchedValidator } from './watched-validators.ts'

const examineEveryMs = 12_000
const examineTimeoutMs = 600_000
const sendEveryMs = 5000
/** Longer than all deliveries of a pass take if every receiver hangs. */
const sendTimeoutMs = 4 * 3_600_000
const backoffMaxMs = 60_000

export interface Alerts {
  /** Call this when epochs of the network were stored. */
  wake(network: Network): void
  /** Runs until the signal aborts. Resolves at once if no network has a watch list. */
  run(signal: AbortSignal): Promise<void>
}

export function createAlerts(context: ValidatorsContext, metrics: WatchedMetrics): Alerts {
  const { groups, validators } = context.settings
  const isWatched = (network: Network) => {
    const settings = validators.networks[network]
    return groups.validators.enabled && settings.beacon.urls.length > 0 && hasWatchList(settings)
  }
  const examineWakes = new Map(networks.filter(isWatched).map((network) => [network, new WakeSignal()]))
  return {
    wake: (network) => examineWakes.get(network)?.wake(),
    async run(signal) {
      if (examineWakes.size === 0) {
        if (validators.webhooks.length > 0)
          context.log.warn({}, 'webhooks get no events: set validators.networks.<name>.watch and beacon.urls')
        return
      }
      const sendWake = new WakeSignal()
      const examining = [...examineWakes].map(([network, wake]) =>
        examineNetwork(context, metrics, network, { wake, sendWake }, signal),
      )
      try {
        await Promise.all([...examining, sendDeliveries(context, metrics, sendWake, signal)])
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
  { wake, sendWake }: { readonly wake: WakeSignal; readonly sendWake: WakeSignal },
  signal: AbortSignal,
): Promise<void> {
  const { duties, settings, clock } = context
  const time = settings.validators.networks[network]
  const { urls, timeoutMs } = time.beacon
  const identity = await storedChain(duties, network)
  const beacon = openBeacon({ network, urls, timeoutMs, clock, identity })
  const checkBlocks = createBlockCheck(context, network, beacon)
  const figures = new NetworkFigures(context, metrics, network)
  const upcoming = new UpcomingProposals(beacon, time, clock)
  const deposits = new DepositQueue(beacon, time, clock, time.watch)
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
          if (examined.deliveries > 0) sendWake.wake()
        }
        await figures.update(upcoming, stop)
        const head = await examineHead(context, network, figures.watched, stop)
        if (head && head.deliveries > 0) sendWake.wake()
        figures.setHead(head?.missed)
        await figures.updateQueues(deposits, stop)
      },
      report: outcomeLogger(context, { network }, 'alerts'),
    },
    signal,
  )
}

/** Keeps the metrics of a network up to date. */
export class NetworkFigures {
  readonly #context: Pick<ValidatorsContext, 'state' | 'duties' | 'settings'>
  readonly #metrics: WatchedMetrics
  readonly #network: Network
  #watched: ReadonlyMap<number, WatchedValidator> = new Map()
  #dayHour = -1

  constructor(
    context: Pick<ValidatorsContext, 'state' | 'duties' | 'settings'>,
    metrics: WatchedMetrics,
    network: Network,
  ) {
    this.#context = context
    this.#metrics = metrics
    this.#network = network
  }

  /** As of the last update. */
  get watched(): ReadonlyMap<number, WatchedValidator> {
    return this.#watched
  }

  /** Undefined: nothing is known about the head. */
  setHead(missed: readonly MissedDuty[] | undefined): void {
    const counts = missed ? countMissed(this.#watched, missed) : []
    this.#metrics.setHead(
      this.#network,
      counts.filter(({ duty }) => duty === 'attestation' || duty === 'block'),
    )
  }

  addExamined({ watched, missed, epochs, blockProblems }: ExaminedEpochs): void {
    this.#watched = watched
    this.#metrics.addMissed(this.#network, countMissed(watched, missed, blockProblems))
    this.#metrics.setExamined(this.#network, epochs.until - 1)
    this.#metrics.setStatuses(this.#network, countStatuses(watched, epochs.until - 1))
  }

  async update(upcoming: Pick<UpcomingProposals, 'read'>, signal: AbortSignal): Promise<void> {
    const { duties, settings } = this.#context
    const network = this.#network
    const time = plainTime(settings.validators.networks[network])
    const until = (await coveredEpochs(duties, network)).at(-1)?.until ?? 0
    if (this.#watched.size === 0) {
      this.#watched = await readWatchedValidators(this.#context, network)
      // Prometheus does not count the first value of a series as an increase, so that it must be 0.
      this.#metrics.addMissed(network, countMissed(this.#watched, []))
      this.#metrics.setStatuses(network, countStatuses(this.#watched, until - 1))
    }
    const watched = this.#watched
    const lastHour = lastCompleteHour(time, until)
    if (lastHour > this.#dayHour && watched.size > 0) {
      this.#metrics.setDay(network, await readDayFigures(duties, { network, time, watched, lastHour }, signal))
      this.#dayHour = lastHour
    }
    const seriesOf = assignSeries(watched)
    const proposals = await upcoming.read(signal)
    const due = Map.groupBy(
      (proposals ?? []).filter(({ validator }) => watched.has(validator)),
      ({ validator }) => seriesOf(validator),
    )
    const all = new Set([...watched.keys()].map(seriesOf))
    const counts = [...all].map((series) => ({ ...series, count: due.get(series)?.length ?? 0 }))
    this.#metrics.setUpcoming(network, proposals ? counts : [])
  }

  async updateQueues(deposits: Pick<DepositQueue, 'read'>, signal: AbortSignal): Promise<void> {
    const until = (await coveredEpochs(this.#context.duties, this.#network)).at(-1)?.until ?? 0
    const depositEpoch = await deposits.read(signal)
    const queued: QueueEpoch[] =
      depositEpoch === undefined ? [] : [{ pool: 'none', operator: 'none', queue: 'deposit', epoch: depositEpoch }]
    this.#metrics.setQueues(this.#network, [...registryQueues(this.#watched, until - 1), ...queued])
  }
}

const sendDeliveries = (
  context: ValidatorsContext,
  metrics: WatchedMetrics,
  wakeSignal: WakeSignal,
  signal: AbortSignal,
): Promise<void> =>
  poll(
    context,
    {
      everyMs: sendEveryMs,
      timeoutMs: sendTimeoutMs,
      backoffMaxMs,
      wakeSignal,
      work: (stop) => sendDueDeliveries(context, stop, metrics.addDelivery),
      report: outcomeLogger(context, {}, 'webhooks'),
    },
    signal,
  )

const outcomeLogger =
  ({ log }: Pick<ValidatorsContext, 'log'>, fields: object, what: string) =>
  (outcome: PollOutcome<unknown>): void => {
    if (outcome.is === 'failed') {
      const reason = outcome.error instanceof Error ? outcome.error.message : String(outcome.error)
      log.warn({ ...fields, failures: outcome.failures, reason }, `${what}: failed; will retry`)
    } else if (outcome.failuresBefore > 0) log.info(fields, `${what}: working again`)
  }
