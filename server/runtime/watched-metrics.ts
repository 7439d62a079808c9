// Metrics of watched validators and of webhooks. The caller bounds the number of series (validators/alerts/series.ts).
import { Counter, Gauge, type Registry } from 'prom-client'

/** The labels of a validator or of a pool. */
export interface Series {
  readonly pool: string
  /** Empty if there is one series per pool. */
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
  'sync_signature',
  'slashed',
] as const
export type WatchedDuty = (typeof watchedDuties)[number]

/** Figures of the last day. */
export interface DayFigures extends Series {
  /** Undefined: no validator of the series was active. */
  readonly effectiveness: number | undefined
  readonly proposerDuties: number
  readonly proposed: number
  readonly syncSignatures: number
}

export interface WatchedMetrics {
  /** `count` 0 creates the series, so that Prometheus sees its first increase. */
  addMissed(network: string, counts: readonly (Series & { readonly duty: WatchedDuty; readonly count: number })[]): void
  setExamined(network: string, epoch: number): void
  setStatuses(
    network: string,
    counts: readonly { readonly pool: string; readonly status: string; readonly count: number }[],
  ): void
  setDay(network: string, figures: readonly DayFigures[]): void
  /** Proposals of the current and the next epoch that are still due. */
  setUpcoming(network: string, counts: readonly (Series & { readonly count: number })[]): void
  /** `ok`, `retried` or `failed`. */
  addDelivery(webhook: string, outcome: string): void
  /** This process no longer examines epochs: old values would look current. */
  clear(): void
}

const seriesLabels = ['network', 'pool', 'validator']

export function createWatchedMetrics(registry: Registry): WatchedMetrics {
  const registers = [registry]
  const gauge = (name: string, help: string, labelNames = seriesLabels) =>
    new Gauge({ name: `tetrad_watched_${name}`, help, labelNames, registers })
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
  const examined = gauge('examined_epoch', 'The last epoch that was examined for events.', ['network'])
  const statuses = gauge('validators', 'Watched validators by status.', ['network', 'pool', 'status'])
  const effectiveness = gauge('effectiveness', 'Mean effectiveness of watched validators in the last day, 0 to 100.')
  const proposerDuties = gauge('proposer_duties', 'Blocks that watched validators had to propose in the last day.')
  const proposed = gauge('proposed', 'Blocks that watched validators proposed in the last day.')
  const syncSignatures = gauge('sync_signatures', 'Sync committee signatures of watched validators in the last day.')
  const upcoming = gauge('upcoming_proposals', 'Blocks that are due in the current and the next epoch.')
  const ofNetwork = (metric: Gauge, network: string) => replaceSeries(metric, network)
  return {
    addMissed(network, counts) {
      for (const { pool, validator, duty, count } of counts) missed.inc({ network, pool, validator, duty }, count)
    },
    setExamined: (network, epoch) => examined.set({ network }, epoch),
    setStatuses(network, counts) {
      const set = ofNetwork(statuses, network)
      for (const { pool, status, count } of counts) set({ pool, status }, count)
    },
    setDay(network, figures) {
      const [setEffectiveness, setDuties, setProposed, setSignatures] = [
        ...[effectiveness, proposerDuties, proposed, syncSignatures].map((metric) => ofNetwork(metric, network)),
      ] as [SetValue, SetValue, SetValue, SetValue]
      for (const { pool, validator, ...figure } of figures) {
        if (figure.effectiveness !== undefined) setEffectiveness({ pool, validator }, figure.effectiveness)
        setDuties({ pool, validator }, figure.proposerDuties)
        setProposed({ pool, validator }, figure.proposed)
        setSignatures({ pool, validator }, figure.syncSignatures)
      }
    },
    setUpcoming(network, counts) {
      const set = ofNetwork(upcoming, network)
      for (const { pool, validator, count } of counts) set({ pool, validator }, count)
    },
    addDelivery: (webhook, outcome) => deliveries.inc({ webhook, outcome }),
    clear() {
      for (const metric of [examined, statuses, effectiveness, proposerDuties, proposed, syncSignatures, upcoming])
        metric.reset()
    },
  }
}

type SetValue = (labels: Readonly<Record<string, string>>, value: number) => void

/** Label sets of each gauge and network, to remove those that are no longer set. */
const known = new WeakMap<Gauge, Map<string, Readonly<Record<string, string>>[]>>()

function replaceSeries(metric: Gauge, network: string): SetValue {
  const byNetwork = known.get(metric) ?? new Map<string, Readonly<Record<string, string>>[]>()
  known.set(metric, byNetwork)
  for (const labels of byNetwork.get(network) ?? []) metric.remove(labels)
  const current: Readonly<Record<string, string>>[] = []
  byNetwork.set(network, current)
  return (given, value) => {
    const labels = { network, ...given }
    current.push(labels)
    metric.set(labels, value)
  }
}
