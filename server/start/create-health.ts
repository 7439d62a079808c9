// What /readyz and /metrics report: whether each part of a server works, and what it has read.
import { chainFindings } from '#explorer/funding/index/start-chains.ts'
import { rateFindings } from '#fx/rates/poll-rates.ts'
import {
  createHealthMonitor,
  type Finding,
  findingsOf,
  healthRoutes,
  isReady,
  oncePerSecond,
  type Readiness,
  sharedLimitsFinding,
  storeChecks,
} from '#http/health.ts'
import type { ExtraRoute } from '#http/routes.ts'
import { marketFindings } from '#markets/feeds/start-markets.ts'
import type { Coverage } from '#operations/coverage.ts'
import { readMirrorStatus } from '#operations/mirror/mirror.ts'
import { describeClockDoubt } from '#operations/proven-time/keep-proven-time.ts'
import type { Metrics } from '#runtime/metrics.ts'
import type { WriteHealth } from '#storage/write-health.ts'
import { entityFindings } from '#validators/entities/source-findings.ts'
import { beaconFindings } from '#validators/ingest/start.ts'
import type { Ingest } from '../background/start-ingest.ts'
import type { AppContext } from '../context.ts'

export interface HealthParts {
  readonly metrics: Metrics
  readonly writeHealth: WriteHealth
  readonly ingest: Ingest
  readonly hasSharedLimits: () => boolean
  readonly coverage: () => Promise<Coverage>
}

export interface Health {
  readonly readiness: Readiness
  /** /healthz, /readyz and /metrics. */
  readonly routes: readonly ExtraRoute[]
}

export function createHealth(context: AppContext, parts: HealthParts): Health {
  const { clock, settings } = context
  const { metrics, coverage } = parts
  const runCheck = createHealthMonitor(context)
  // Servers on one database serve the same data: another one is no better if it is old (behaviour/operations.md#readiness).
  const isShared = settings.store.state !== ''
  const ofData = async (findings: Promise<readonly Finding[]>): Promise<readonly Finding[]> =>
    isShared ? (await findings).map((finding) => ({ ...finding, required: false })) : findings
  const checks = {
    ...storeChecks(context, parts.writeHealth),
    limits: async () => (settings.limits === '' ? [] : [sharedLimitsFinding(parts.hasSharedLimits())]),
    ingest: () => parts.ingest.findings(),
    retention: async () => {
      const doubt = describeClockDoubt(context)
      return doubt ? [{ name: 'retention', ok: false, message: doubt.message, required: false as const }] : []
    },
    rates: () => ofData(rateFindings(context)),
    chains: () => chainFindings(context),
    markets: () => ofData(marketFindings(context)),
    beacon: () => ofData(beaconFindings(context)),
    entities: () => entityFindings(context),
  }
  const readiness: Readiness = {
    stopping: false,
    findings: oncePerSecond(clock, () => findingsOf(runCheck, checks)),
    reportReady: metrics.ready,
  }
  const readMetrics = oncePerSecond(clock, async () => {
    const [findings, report, mirror] = await Promise.all([
      readiness.findings(),
      runCheck('coverage', coverage),
      runCheck('mirror', () => readMirrorStatus(context)),
    ])
    metrics.ready(!readiness.stopping && isReady(findings))
    // Without a report, export no stream metrics: old values would look current.
    metrics.setStreams(report?.streams ?? [])
    metrics.setMirror(mirror ?? [])
    return { type: metrics.contentType, text: await metrics.text() }
  })
  return { readiness, routes: healthRoutes(readiness, readMetrics) }
}
