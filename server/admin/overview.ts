// GET /console/overview: status of the server, its data and sources, for a page that polls every two seconds.
import type { Overview, RequestView } from '#api/console.ts'
import { checksOf, isReady, oncePerSecond, type Readiness } from '#http/health.ts'
import type { ExtraRoute } from '#http/routes.ts'
import type { Coverage } from '#operations/coverage.ts'
import type { Metrics, Totals } from '#runtime/metrics.ts'
import type { AppContext } from '#server/context.ts'
import { operatorRoute } from './operator-requests.ts'
import type { ProgressBoard } from './progress.ts'
import { hostsOnly, sourceViews } from './sources.ts'

export interface OverviewParts {
  readonly version: string
  readonly readiness: Readiness
  readonly metrics: Pick<Metrics, 'totals'>
  readonly board: ProgressBoard
  readonly coverage: () => Promise<Coverage>
}

export function overviewRoute(context: AppContext, parts: OverviewParts): ExtraRoute {
  const startedAt = new Date(context.clock.now()).toISOString()
  const recent = oncePerSecond(context.clock, () => overviewOf(context, parts, startedAt))
  return operatorRoute(context, '/console/overview', { GET: recent })
}

async function overviewOf(context: AppContext, parts: OverviewParts, startedAt: string): Promise<Overview> {
  const { version, readiness, metrics, board, coverage } = parts
  const [checks, { streams }, sources, totals] = await Promise.all([
    checksOf(readiness),
    coverage(),
    sourceViews(context, board),
    metrics.totals(),
  ])
  return {
    at: new Date(context.clock.now()).toISOString(),
    version,
    startedAt,
    ready: isReady(checks),
    checks: checks.map((check) => ({ ...check, message: hostsOnly(check.message) })),
    streams,
    ingest: board.views(),
    sources,
    requests: requestViews(totals),
    engine: context.state.engine,
  }
}

function requestViews({ requests, times }: Totals): RequestView[] {
  const byEndpoint = new Map<string, Record<string, number>>()
  for (const { endpoint, outcome, count } of requests) {
    byEndpoint.getOrInsert(endpoint, {})[outcome] = count
  }
  return [...byEndpoint].map(([endpoint, outcomes]) => {
    const { count = 0, seconds = 0 } = times.get(endpoint) ?? {}
    return { endpoint, outcomes, answered: count, seconds }
  })
}
