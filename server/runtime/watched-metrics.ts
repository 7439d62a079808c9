// Metrics of watched validators and of webhooks. The caller bounds the number of series (validators/extensions/alerts/series.ts).
import { Counter, Gauge, type Registry } from 'prom-client'
import type { WatchedDuty } from './watched-duties.ts'

export interface EntityLabels {
  readonly pool: string
  readonly operator: string
}

/** The labels of a validator, or of the validators of one pool and operator. */
export interface Series extends EntityLabels {
  /** Empty if there is one series per pool and operator. */
  readonly validator: string
}

/** Values of `queue`. */
export const queueNames = ['deposit', 'activation', 'exit'] as const
export type QueueName = (typeof queueNames)[number]

/** Figures of the last day. */
export interface DayFigures extends Series {
  /** Undefined: no validator of the series was active. */
  readonly effectiveness: number | undefined
  readonly proposerDuties: number
  readonly proposed: number
  readonly syncSignatures: number
}

export type WatchedMetrics = ReturnType<typeof createWatchedMetrics>

interface DutyCount extends Series {
  readonly duty: WatchedDuty
  readonly count: number
}

const seriesLabels = ['pool', 'operator', 'validator']

export function createWatchedMetrics(registry: Registry) {
  const registers = [registry]
  const gauges: ReturnType<typeof networkGauge>[] = []
  const gauge = (name: string, help: string, labelNames = seriesLabels) => {
    const created = networkGauge(registry, `tetrad_watched_${name}`, help, labelNames)
    gauges.push(created)
    return created
  }
  const missed = new Counter({
    name: 'tetrad_watched_missed_duties_total',
    help: 'Missed, late and wrong duties of watched validators.',
    labelNames: ['network', ...seriesLabels, 'duty'],
    registers,
  })
  const deliveries = new Counter({
    name: 'tetrad_webhook_deliveries_total',
    help: 'Attempts to deliver events to webhooks, by outcome.',
    labelNames: ['webhook', 'outcome'],
    registers,
  })
  const head = gauge(
    'head_missed_duties',
    'Missed blocks and attestations of watched validators in epochs that are not final.',
    [...seriesLabels, 'duty'],
  )
  const examined = gauge('examined_epoch', 'The last epoch that was examined for events.', [])
  const statuses = gauge('validators', 'Watched validators by status.', ['pool', 'operator', 'status'])
  const effectiveness = gauge('effectiveness', 'Mean effectiveness of watched validators in the last day, 0 to 100.')
  const proposerDuties = gauge('proposer_duties', 'Blocks that watched validators had to propose in the last day.')
  const proposed = gauge('proposed', 'Blocks that watched validators proposed in the last day.')
  const syncSignatures = gauge('sync_signatures', 'Sync committee signatures of watched validators in the last day.')
  const belowProgramme = gauge(
    'below_programme',
    'Watched validators that are not above the threshold of a programme.',
    ['pool', 'operator', 'programme'],
  )
  const upcoming = gauge('upcoming_proposals', 'Blocks that are due in the current and the next epoch.')
  const queueHelp = 'The epoch in which the last watched validator leaves a queue.'
  const queueEpoch = gauge('queue_epoch', queueHelp, ['pool', 'operator', 'queue'])
  return {
    /** `count` 0 creates the series, so that Prometheus sees its first increase. */
    addMissed(network: string, counts: readonly DutyCount[]): void {
      for (const { count, ...labels } of counts) missed.inc({ network, ...labels }, count)
    },
    setExamined: (network: string, epoch: number) => examined.replace(network, [{}], () => epoch),
    /** Missed duties of epochs that are not final. */
    setHead: (network: string, counts: readonly DutyCount[]) => head.replace(network, counts, ({ count }) => count),
    setStatuses: (network: string, counts: readonly (EntityLabels & { status: string; count: number })[]) =>
      statuses.replace(network, counts, ({ count }) => count),
    setDay(network: string, figures: readonly DayFigures[]): void {
      effectiveness.replace(network, figures, (figure) => figure.effectiveness)
      proposerDuties.replace(network, figures, (figure) => figure.proposerDuties)
      proposed.replace(network, figures, (figure) => figure.proposed)
      syncSignatures.replace(network, figures, (figure) => figure.syncSignatures)
    },
    setProgrammes: (network: string, counts: readonly (EntityLabels & { programme: string; count: number })[]) =>
      belowProgramme.replace(network, counts, ({ count }) => count),
    /** Proposals of the current and the next epoch that are still due. */
    setUpcoming: (network: string, counts: readonly (Series & { count: number })[]) =>
      upcoming.replace(network, counts, ({ count }) => count),
    /** The epoch in which the last watched validator leaves a queue. */
    setQueues: (network: string, queues: readonly (EntityLabels & { queue: QueueName; epoch: number })[]) =>
      queueEpoch.replace(network, queues, ({ epoch }) => epoch),
    /** `ok`, `retried` or `failed`. */
    addDelivery: (webhook: string, outcome: string) => deliveries.inc({ webhook, outcome }),
    /** This process no longer examines epochs: old values would look current. */
    clear(): void {
      for (const metric of gauges) metric.clear()
    },
  }
}

/** A gauge whose values of one network are replaced together, so that values of former pools disappear. */
function networkGauge(registry: Registry, name: string, help: string, labelNames: readonly string[]) {
  const gauge = new Gauge({ name, help, labelNames: ['network', ...labelNames], registers: [registry] })
  const labelsByNetwork = new Map<string, readonly Record<string, string>[]>()
  return {
    /** The rows have the labels. Without a value, there is no series. */
    replace<Row extends object>(
      network: string,
      rows: readonly Row[],
      toValue: (row: Row) => number | undefined,
    ): void {
      for (const labels of labelsByNetwork.get(network) ?? []) gauge.remove(labels)
      const current = rows.map((row) => {
        const labels = Object.fromEntries(labelNames.map((label) => [label, row[label as never] as string]))
        return { labels: { network, ...labels }, value: toValue(row) }
      })
      for (const { labels, value } of current) if (value !== undefined) gauge.set(labels, value)
      labelsByNetwork.set(
        network,
        current.map(({ labels }) => labels),
      )
    },
    clear(): void {
      gauge.reset()
      labelsByNetwork.clear()
    },
  }
}
