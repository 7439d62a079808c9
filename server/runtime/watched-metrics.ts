// Metrics of watched validators and of webhooks. The caller bounds the number of series (validators/alerts/series.ts).
import { Counter, Gauge, type Registry } from 'prom-client'

export interface EntityLabels {
  readonly pool: string
  readonly operator: string
}

/** The labels of a validator, or of the validators of one pool and operator. */
export interface Series extends EntityLabels {
  /** Empty if there is one series per pool and operator. */
  readonly validator: string
}

/** Values of `duty`. */
export const watchedDuties = [
  'attestation',
  'late_vote',
  'wrong_target',
  'wrong_head',
  'block',
  'empty_block',
  'wrong_fee_recipient',
  'unknown_relay',
  'sync_signature',
  'slashed',
] as const
export type WatchedDuty = (typeof watchedDuties)[number]

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

const seriesLabels = ['network', 'pool', 'operator', 'validator']

export function createWatchedMetrics(registry: Registry) {
  const registers = [registry]
  const gauges: NetworkGauge[] = []
  const gauge = (name: string, help: string, labelNames = seriesLabels) => {
    const created = new NetworkGauge(new Gauge({ name: `tetrad_watched_${name}`, help, labelNames, registers }))
    gauges.push(created)
    return created
  }
  const missed = new Counter({
    name: 'tetrad_watched_missed_duties_total',
    help: 'Missed, late and wrong duties of watched validators.',
    labelNames: [...seriesLabels, 'duty'],
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
  const examined = gauge('examined_epoch', 'The last epoch that was examined for events.', ['network'])
  const statuses = gauge('validators', 'Watched validators by status.', ['network', 'pool', 'operator', 'status'])
  const effectiveness = gauge('effectiveness', 'Mean effectiveness of watched validators in the last day, 0 to 100.')
  const proposerDuties = gauge('proposer_duties', 'Blocks that watched validators had to propose in the last day.')
  const proposed = gauge('proposed', 'Blocks that watched validators proposed in the last day.')
  const syncSignatures = gauge('sync_signatures', 'Sync committee signatures of watched validators in the last day.')
  const upcoming = gauge('upcoming_proposals', 'Blocks that are due in the current and the next epoch.')
  const queueEpoch = gauge('queue_epoch', 'The epoch in which the last watched validator leaves a queue.', [
    ...['network', 'pool', 'operator', 'queue'],
  ])
  return {
    /** `count` 0 creates the series, so that Prometheus sees its first increase. */
    addMissed(network: string, counts: readonly DutyCount[]): void {
      for (const { duty, count, ...series } of counts) missed.inc({ network, ...labelsOf(series), duty }, count)
    },
    setExamined: (network: string, epoch: number) => examined.replace(network, [{ labels: {}, value: epoch }]),
    /** Missed duties of epochs that are not final. */
    setHead(network: string, counts: readonly DutyCount[]): void {
      const values = counts.map(({ duty, count, ...series }) => ({
        labels: { ...labelsOf(series), duty },
        value: count,
      }))
      head.replace(network, values)
    },
    setStatuses(
      network: string,
      counts: readonly (EntityLabels & { readonly status: string; readonly count: number })[],
    ): void {
      statuses.replace(
        network,
        counts.map(({ pool, operator, status, count }) => ({ labels: { pool, operator, status }, value: count })),
      )
    },
    setDay(network: string, figures: readonly DayFigures[]): void {
      const replace = (metric: NetworkGauge, figureOf: (figure: DayFigures) => number | undefined) =>
        metric.replace(
          network,
          figures.map((figure) => ({ labels: labelsOf(figure), value: figureOf(figure) })),
        )
      replace(effectiveness, (figure) => figure.effectiveness)
      replace(proposerDuties, (figure) => figure.proposerDuties)
      replace(proposed, (figure) => figure.proposed)
      replace(syncSignatures, (figure) => figure.syncSignatures)
    },
    /** Proposals of the current and the next epoch that are still due. */
    setUpcoming(network: string, counts: readonly (Series & { readonly count: number })[]): void {
      upcoming.replace(
        network,
        counts.map((series) => ({ labels: labelsOf(series), value: series.count })),
      )
    },
    /** The epoch in which the last watched validator leaves a queue. */
    setQueues(
      network: string,
      queues: readonly (EntityLabels & { readonly queue: QueueName; readonly epoch: number })[],
    ): void {
      queueEpoch.replace(
        network,
        queues.map(({ pool, operator, queue, epoch }) => ({ labels: { pool, operator, queue }, value: epoch })),
      )
    },
    /** `ok`, `retried` or `failed`. */
    addDelivery: (webhook: string, outcome: string) => deliveries.inc({ webhook, outcome }),
    /** This process no longer examines epochs: old values would look current. */
    clear(): void {
      for (const metric of gauges) metric.clear()
    },
  }
}

type Labels = Readonly<Record<string, string>>

const labelsOf = ({ pool, operator, validator }: Series): Labels => ({ pool, operator, validator })

/** A gauge whose values of one network are replaced together, so that values of former pools disappear. */
class NetworkGauge {
  readonly #gauge: Gauge
  readonly #labels = new Map<string, readonly Labels[]>()

  constructor(gauge: Gauge) {
    this.#gauge = gauge
  }

  /** Without a value, there is no series. */
  replace(network: string, values: readonly { readonly labels: Labels; readonly value: number | undefined }[]): void {
    for (const labels of this.#labels.get(network) ?? []) this.#gauge.remove(labels)
    const current = values.map(({ labels, value }) => ({ labels: { network, ...labels }, value }))
    for (const { labels, value } of current) if (value !== undefined) this.#gauge.set(labels, value)
    this.#labels.set(
      network,
      current.map(({ labels }) => labels),
    )
  }

  clear(): void {
    this.#gauge.reset()
    this.#labels.clear()
  }
}
