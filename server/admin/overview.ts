// GET /console/overview: status of the server, its data and sources, for a page that polls every two seconds. URLs
// may contain keys, so only their host is shown, also inside error messages.

import { checksOf, oncePerSecond, type Readiness } from '#http/health.ts'
import type { ExtraRoute } from '#http/routes.ts'
import type { Coverage } from '#operations/coverage.ts'
import type { AppContext } from '#server/context.ts'
import type { Overview } from '#shared/console-calls.ts'
import { operatorRoute } from './operator-requests.ts'
import type { ProgressBoard } from './progress.ts'

export interface OverviewParts {
  readonly version: string
  readonly readiness: Readiness
  readonly board: ProgressBoard
  readonly coverage: () => Promise<Coverage>
}

/** Shared by all pages, so it is read with the context of the server: it does not end with one of them. */
export function overviewRoute(context: AppContext, parts: OverviewParts): ExtraRoute<AppContext> {
  const startedAt = new Date(context.clock.now()).toISOString()
  const recent = oncePerSecond(context.clock, () => overviewOf(context, parts, startedAt))
  return operatorRoute('/console/overview', { GET: recent })
}

async function overviewOf(context: AppContext, parts: OverviewParts, startedAt: string): Promise<Overview> {
  const { version, readiness, board, coverage } = parts
  const [checks, { streams }] = await Promise.all([checksOf(readiness), coverage()])
  return {
    at: new Date(context.clock.now()).toISOString(),
    version,
    startedAt,
    checks: checks.map((check) => ({ ...check, message: hostsOnly(check.message) })),
    streams: streams.map((stream) => {
      const view = { ...stream, ...board.view(stream.name) }
      return view.problem === undefined ? view : { ...view, problem: hostsOnly(view.problem) }
    }),
    engine: context.state.engine,
  }
}

/** `https://node.example/v3/secret answered …` → `node.example answered …`. */
export const hostsOnly = (text: string): string =>
  text.replaceAll(/\b(?:https?|wss?):\/\/[^\s"'<>,;)]+/gi, (address) => URL.parse(address)?.host ?? 'a node')
