// Prometheus metrics. Only this file and watched-metrics.ts import the metrics library. Each server has its own registry,
// so that servers in one process are counted separately. Label sets are cached to keep counting cheap.
import { Counter, collectDefaultMetrics, Gauge, type Histogram, type MetricValue, Registry } from 'prom-client'
import type { StreamView } from '#shared/console-calls.ts'
import { createWatchedMetrics } from './watched-metrics.ts'

export const metricsContentType = Registry.PROMETHEUS_CONTENT_TYPE

/** Label values come from fixed lists. Beyond this number, values are counted as `other` (behaviour/http.md#metrics). */
const labelSetsMax = 1000

/** Upper bounds of the buckets of response times; a last bucket has everything above. */
export const requestSeconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]
const storeSeconds = [0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.25, 1, 5]

export type Metrics = ReturnType<typeof openMetrics>

export interface Totals {
  readonly requests: readonly { readonly endpoint: string; readonly outcome: string; readonly count: number }[]
  /** By endpoint and bucket (`requestSeconds`): responses up to its bound, those of the buckets before included. */
  readonly times: ReadonlyMap<string, readonly number[]>
}

type StreamMetrics = Pick<
  StreamView,
  'group' | 'name' | 'ageSeconds' | 'gapsCount' | 'gapless' | 'fresh' | 'status' | 'nodes' | 'passes' | 'nextFork'
>

/** One network in one table of the ClickHouse mirror. */
export interface MirrorMetrics {
  readonly network: string
  readonly table: string
  readonly pending: number
  readonly lagSeconds: number
}

/** `process`: also memory, CPU, event loop and garbage collection of this process. */
export function openMetrics(options: { readonly version?: string; readonly process?: boolean } = {}) {
  const { version = 'unknown', process: ofProcess = true } = options
  const registry = new Registry()
  if (ofProcess) collectDefaultMetrics({ register: registry })
  const gauge = (name: string, help: string, ...labelNames: string[]) =>
    new Gauge({ name: `tetrad_${name}`, help, labelNames, registers: [registry] })
  const counter = (name: string, help: string, ...labelNames: string[]) =>
    counterCells(registry, `tetrad_${name}`, help, labelNames)
  const histogram = (name: string, help: string, buckets: number[], ...labelNames: string[]) =>
    histogramCells(registry, `tetrad_${name}`, help, buckets, labelNames)
  const build = gauge('build_info', 'Always 1; the labels are the versions of Tetrad and Node.', 'version', 'node')
  build.labels(version, process.version).set(1)
  const readyGauge = gauge('ready', '1 if all readiness checks pass, otherwise 0.')
  const limitsHelp = '1 normally, 0 while Redis does not respond and limits are counted per process.'
  const limitsGauge = gauge('limits_shared', limitsHelp)
  limitsGauge.set(1)
  const leases = gauge(
    'ingest_leased',
    '1 if this process runs the ingester, 0 if it does not; absent if it has nothing to do.',
    'ingester',
  )
  const requests = counter('requests_total', 'Requests by endpoint and outcome.', 'endpoint', 'outcome')
  const limits = counter('limits_hit_total', 'Calls refused by a limit, by kind.', 'kind')
  const rounds = counter('ingest_total', 'Polls of sources by outcome.', 'source', 'outcome')
  const unexplainedHelp = 'Balances that the rules do not explain: a defect of Tetrad.'
  const unexplained = counter('unexplained_balances_total', unexplainedHelp, 'network')
  const latency = histogram('request_seconds', 'Duration of requests by endpoint.', requestSeconds, 'endpoint')
  const storeTimes = histogram('store_seconds', 'Duration of database operations.', storeSeconds, 'store', 'operation')

  return {
    contentType: metricsContentType,
    /** `outcome`: ok, unchanged, not_found, client_gone, or an error code. */
    request(endpoint: string, outcome: string, tookMs?: number): void {
      requests(endpoint, outcome)(1)
      if (tookMs !== undefined) latency(endpoint, '')(tookMs / 1000)
    },
    /** A call was refused: `limit.second`, `limit.day`, `key.throttled` and so on. */
    limited: (kind: string) => limits(kind, '')(1),
    /** False while Redis is configured and does not respond. */
    setLimitsShared: (is: boolean) => limitsGauge.set(is ? 1 : 0),
    stored: (store: 'state' | 'ingest' | 'duties', operation: string, tookMs: number) =>
      storeTimes(store, operation)(tookMs / 1000),
    /** One poll of a source ended: `ok`, `unchanged`, or the kind of failure. */
    ingested: (source: string, outcome: string) => rounds(source, outcome)(1),
    /** Whether this process runs an ingester. Undefined: it has nothing to do. */
    leased(ingester: string, is: boolean | undefined): void {
      if (is === undefined) leases.remove(ingester)
      else leases.labels(ingester).set(is ? 1 : 0)
    },
    /** Balances of a network in stored epochs that the rules do not explain. */
    unexplained: (network: string, validators: number) => unexplained(network, '')(validators),
    watched: createWatchedMetrics(registry),
    ready: (is: boolean) => readyGauge.set(is ? 1 : 0),
    /** Called before every scrape, and so is `setMirror`. */
    setStreams: streamGauges(registry),
    setMirror: mirrorGauges(registry),
    text: () => registry.metrics(),
    /** The counters since the start, as in `text`. */
    totals: () => totalsOf(registry),
  }
}

async function totalsOf(registry: Registry): Promise<Totals> {
  const read = async (name: string) => (await registry.getSingleMetric(name)?.get())?.values ?? []
  const requests = await read('tetrad_requests_total')
  const times = new Map<string, number[]>()
  for (const { labels, value, metricName = '' } of (await read('tetrad_request_seconds')) as NamedValue[]) {
    if (metricName.endsWith('_bucket')) times.getOrInsert(String(labels.endpoint), []).push(value)
  }
  return {
    requests: requests.map(({ labels, value }) => ({
      endpoint: String(labels.endpoint),
      outcome: String(labels.outcome),
      count: value,
    })),
    times,
  }
}

/** Values of histograms have a name. */
type NamedValue = MetricValue<string> & { readonly metricName?: string }

function streamGauges(registry: Registry): (streams: readonly StreamMetrics[]) => void {
  const gauge = (name: string, help: string) =>
    new Gauge({ name: `tetrad_stream_${name}`, help, labelNames: ['group', 'stream'], registers: [registry] })
  const age = gauge('age_seconds', 'Age of the newest data of a stream, if known.')
  const gaps = gauge('gaps', 'Number of ranges of a stream that have not been read.')
  const gapless = gauge('gapless', '1 if there is no gap in what was read of a stream, otherwise 0.')
  const fresh = gauge('fresh', '1 if a stream is up to date, 0 if it is stale; only for streams that are synced.')
  const nodesDisagree = gauge('nodes_disagree', '1 if the nodes of a stream return different answers, otherwise 0.')
  const catchingUp = gauge('catching_up', '1 if a stream is behind and makes progress, otherwise 0.')
  const passSeconds = gauge('pass_seconds', 'How long a pass over a rate source or a feed takes.')
  const passesBehind = gauge('passes_behind', 'Passes over a rate source or a feed that were due during one pass.')
  const nextFork = gauge(
    'next_fork_timestamp_seconds',
    'When the next fork that the nodes of a network or chain schedule starts.',
  )
  const forkSupported = gauge(
    'next_fork_supported',
    '1 if this version supports the next fork of a network or chain, otherwise 0.',
  )
  const forkDiffers = gauge(
    'next_fork_differs',
    '1 if not all nodes of a network or chain schedule its next fork for the same time, otherwise 0.',
  )
  return (streams) => {
    // Drop streams that are no longer configured.
    for (const metric of [
      nextFork,
      forkSupported,
      forkDiffers,
      age,
      gaps,
      gapless,
      fresh,
      catchingUp,
      nodesDisagree,
      passSeconds,
      passesBehind,
    ])
      metric.reset()
    for (const { group, name, ageSeconds, gapsCount, ...is } of streams.slice(0, labelSetsMax)) {
      if (ageSeconds !== null) age.labels(group, name).set(ageSeconds)
      gaps.labels(group, name).set(gapsCount)
      gapless.labels(group, name).set(is.gapless ? 1 : 0)
      if (is.fresh !== null) fresh.labels(group, name).set(is.fresh ? 1 : 0)
      if (is.passes) {
        passSeconds.labels(group, name).set(is.passes.takesSeconds)
        passesBehind.labels(group, name).set(is.passes.behind)
      }
      if (is.nodes) nodesDisagree.labels(group, name).set(is.nodes === 'disagree' ? 1 : 0)
      catchingUp.labels(group, name).set(is.status === 'catching up' ? 1 : 0)
      if (is.nextFork) {
        nextFork.labels(group, name).set(Date.parse(is.nextFork.at) / 1000)
        forkSupported.labels(group, name).set(is.nextFork.supported ? 1 : 0)
        forkDiffers.labels(group, name).set(is.nextFork.differs ? 1 : 0)
      }
    }
  }
}

function mirrorGauges(registry: Registry): (tables: readonly MirrorMetrics[]) => void {
  const gauge = (name: string, help: string) =>
    new Gauge({ name: `tetrad_mirror_${name}`, help, labelNames: ['network', 'table'], registers: [registry] })
  const lag = gauge('lag_seconds', 'How long ago the first day or hour that is not in the mirror ended; 0 if none.')
  const pending = gauge('pending', 'Days, hours and changes of past days that have not been sent to the mirror.')
  return (tables) => {
    for (const metric of [lag, pending]) metric.reset()
    for (const { network, table, ...status } of tables) {
      lag.labels(network, table).set(status.lagSeconds)
      pending.labels(network, table).set(status.pending)
    }
  }
}

type Add = (value: number) => void
/** The counter of up to two label values; metrics with one label get an empty second value. */
type Cells = (first: string, second: string) => Add

type Labels = Readonly<Record<string, string>>

/**
 * Counts are added up here and passed to the library at each scrape, because the library formats labels on every call
 * (decisions/accept-the-cost-of-checks-on-every-request.md).
 */
function counterCells(registry: Registry, name: string, help: string, labelNames: string[]): Cells {
  const unread: { readonly labels: Labels; count: number }[] = []
  new Counter({
    name,
    help,
    labelNames,
    registers: [registry],
    collect() {
      for (const cell of unread) {
        this.inc(cell.labels, cell.count)
        cell.count = 0
      }
    },
  })
  return cachedCells((labels) => {
    const cell = { labels, count: 0 }
    unread.push(cell)
    return (value) => {
      cell.count += value
    }
  }, labelNames)
}

/** Our own histogram for the same reason; those of the library cannot take counts that were added up elsewhere. */
function histogramCells(
  registry: Registry,
  name: string,
  help: string,
  buckets: number[],
  labelNames: string[],
): Cells {
  const observed: Observed[] = []
  const get = async () => ({
    name,
    help,
    type: 'histogram',
    aggregator: 'sum',
    values: observed.flatMap((one) => histogramValues(name, buckets, one)),
  })
  registry.registerMetric({ name, get } as unknown as Histogram)
  return cachedCells((labels) => {
    const one: Observed = { labels, counts: new Array<number>(buckets.length + 1).fill(0), sum: 0 }
    observed.push(one)
    return (value) => {
      let at = 0
      while (at < buckets.length && value > (buckets[at] as number)) at += 1
      one.counts[at] = (one.counts[at] as number) + 1
      one.sum += value
    }
  }, labelNames)
}

interface Observed {
  readonly labels: Labels
  /** By bucket; the last one is +Inf. */
  readonly counts: number[]
  sum: number
}

function histogramValues(name: string, buckets: readonly number[], { labels, counts, sum }: Observed) {
  let count = 0
  const values = [...buckets, '+Inf'].map((le, at) => {
    count += counts[at] as number
    return { metricName: `${name}_bucket`, labels: { le, ...labels }, value: count }
  })
  return [
    ...values,
    { metricName: `${name}_sum`, labels, value: sum },
    { metricName: `${name}_count`, labels, value: count },
  ]
}

function cachedCells(make: (labels: Labels) => Add, names: readonly string[]): Cells {
  const cells = new Map<string, Map<string, Add>>()
  let size = 0
  const cell = (first: string, second: string): Add => {
    const found = cells.get(first)?.get(second)
    if (found) return found
    if (size >= labelSetsMax && first !== 'other') return cell('other', names.length > 1 ? 'other' : '')
    const values = [first, second]
    const made = make(Object.fromEntries(names.map((name, at) => [name, values[at] ?? ''])))
    cells.getOrInsertComputed(first, () => new Map()).set(second, made)
    size++
    return made
  }
  return cell
}
