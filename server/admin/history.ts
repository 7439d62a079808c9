// GET /console/history: requests, response times and the age of data over the last hour and the last day. The recorder
// keeps copies of the counters in two rings in memory: one for each minute of an hour, one for each quarter of an hour of
// a day. Rates and percentiles are computed from the differences of two copies.

import { faults } from '#api/contract/faults.ts'
import { type Group, groups } from '#api/contract/routes.ts'
import type { ExtraRoute } from '#http/routes.ts'
import type { Coverage } from '#operations/coverage.ts'
import type { Clock } from '#runtime/clock.ts'
import { type Metrics, requestSeconds, type Totals } from '#runtime/metrics.ts'
import type { AppContext } from '#server/context.ts'
import type { HistoryRange, ServerHistory, StreamView, TrafficHistory } from '#shared/console-calls.ts'
import { operatorRoute } from './operator-requests.ts'

const minuteMs = 60_000
const rings = { hour: { minutes: 1, steps: 60 }, day: { minutes: 15, steps: 96 } } as const

interface RecorderParts {
  readonly clock: Clock
  readonly metrics: Pick<Metrics, 'totals'>
  readonly coverage: () => Promise<Coverage>
}

/** Counters of one interface since the start. */
interface Traffic {
  requests: number
  errors: number
  refused: number
  /** As `times` of `Totals`. */
  upTo: readonly number[]
}

interface Sample {
  readonly atMs: number
  readonly traffic: Readonly<Record<Group, Traffic>>
  readonly streams: readonly Pick<StreamView, 'group' | 'name' | 'ageSeconds'>[]
}

export type HistoryRecorder = ReturnType<typeof startHistoryRecorder>

export function startHistoryRecorder({ clock, metrics, coverage }: RecorderParts) {
  const samples: Record<keyof typeof rings, Sample[]> = { hour: [], day: [] }
  let minuteCount = 0
  let pending = record(clock.now())
  const stop = clock.every(minuteMs, () => {
    const atMs = clock.now()
    pending = pending.then(() => record(atMs))
  })

  async function record(atMs: number): Promise<void> {
    const sample = await takeSample(atMs)
    for (const [name, { minutes, steps }] of Object.entries(rings) as [keyof typeof rings, (typeof rings)['hour']][]) {
      const ring = samples[name]
      if (minuteCount % minutes === 0) ring.push(sample)
      // One more copy than steps, as the start of the first one.
      if (ring.length > steps + 1) ring.shift()
    }
    minuteCount += 1
  }

  async function takeSample(atMs: number): Promise<Sample> {
    const [totals, report] = await Promise.all([
      metrics.totals(),
      // A database that does not respond must not end the recording.
      coverage().catch(() => ({ streams: [] })),
    ])
    const streams = report.streams.map(({ group, name, ageSeconds }) => ({ group, name, ageSeconds }))
    return { atMs, traffic: toTraffic(totals), streams }
  }

  return {
    stop,
    /** Ends with a step from the newest copy until now, so that a new server has values at once. */
    async read(): Promise<ServerHistory> {
      await pending
      const now = await takeSample(clock.now())
      return { hour: toRange([...samples.hour, now]), day: toRange([...samples.day, now]) }
    },
  }
}

function toTraffic({ requests, times }: Totals): Record<Group, Traffic> {
  const traffic = Object.fromEntries(
    groups.map((group) => [group, { requests: 0, errors: 0, refused: 0, upTo: noTimes }]),
  ) as Record<Group, Traffic>
  const trafficOf = (endpoint: string): Traffic | undefined => traffic[endpoint.split('.')[0] as Group]
  for (const { endpoint, outcome, count } of requests) {
    const groupTraffic = trafficOf(endpoint)
    if (!groupTraffic) continue
    groupTraffic.requests += count
    const status = outcome in faults ? faults[outcome as keyof typeof faults].status : 200
    if (status >= 500) groupTraffic.errors += count
    else if (status >= 400) groupTraffic.refused += count
  }
  for (const [endpoint, upTo] of times) {
    const groupTraffic = trafficOf(endpoint)
    if (groupTraffic) groupTraffic.upTo = groupTraffic.upTo.map((count, at) => count + (upTo[at] ?? 0))
  }
  return traffic
}

const noTimes: readonly number[] = Array.from({ length: requestSeconds.length + 1 }, () => 0)

function toRange(samples: readonly Sample[]): HistoryRange {
  // A step shorter than a second would have a meaningless rate.
  const steps = samples
    .slice(1)
    .map((until, at) => ({ from: samples[at] as Sample, until }))
    .filter(({ from, until }) => until.atMs - from.atMs >= 1000)
  const traffic = (of: readonly Group[]): TrafficHistory => {
    const rate = (name: 'requests' | 'errors' | 'refused') =>
      steps.map(({ from, until }) => {
        const increase = of.reduce((sum, group) => sum + until.traffic[group][name] - from.traffic[group][name], 0)
        return round((increase * 1000) / (until.atMs - from.atMs))
      })
    const percentile = (share: number) =>
      steps.map(({ from, until }) => {
        const upTo = noTimes.map((_, at) =>
          of.reduce(
            (sum, group) => sum + (until.traffic[group].upTo[at] as number) - (from.traffic[group].upTo[at] as number),
            0,
          ),
        )
        return percentileMs(upTo, share)
      })
    return {
      requests: rate('requests'),
      errors: rate('errors'),
      refused: rate('refused'),
      p50: percentile(0.5),
      p95: percentile(0.95),
      p99: percentile(0.99),
    }
  }
  const streams = samples.at(-1)?.streams ?? []
  return {
    times: steps.map(({ until }) => Math.round(until.atMs / 1000)),
    traffic: {
      ...(Object.fromEntries(groups.map((group) => [group, traffic([group])])) as Record<Group, TrafficHistory>),
      all: traffic(groups),
    },
    lag: streams.map(({ group, name }) => ({
      group,
      stream: name,
      seconds: steps.map(
        ({ until }) =>
          until.streams.find((stream) => stream.group === group && stream.name === name)?.ageSeconds ?? null,
      ),
    })),
  }
}

const round = (value: number): number => Math.round(value * 1000) / 1000

/** Interpolates within the bucket. Responses above the last bound count as this bound. */
export function percentileMs(upTo: readonly number[], share: number): number | null {
  const total = upTo.at(-1) ?? 0
  if (total === 0) return null
  const rank = share * total
  const at = upTo.findIndex((count) => count >= rank)
  const [low, high] = [requestSeconds[at - 1] ?? 0, requestSeconds[at] ?? (requestSeconds.at(-1) as number)]
  const before = upTo[at - 1] ?? 0
  const inBucket = (upTo[at] as number) - before
  return round(1000 * (low + (inBucket === 0 ? 0 : ((rank - before) / inBucket) * (high - low))))
}

export const historyRoute = (history: HistoryRecorder): ExtraRoute<AppContext> =>
  operatorRoute('/console/history', { GET: () => history.read() })
