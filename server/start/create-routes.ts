// The paths of a server outside the contract: health, the OpenAPI document, downloads of label lists, coverage, MCP and the
// console.

import type { HistoryRecorder } from '#admin/history.ts'
import type { ProgressBoard } from '#admin/progress.ts'
import { consoleRoutes } from '#admin/routes.ts'
import { openapi } from '#api/contract/openapi.ts'
import { labelExportRoute } from '#explorer/labels/lists/downloads.ts'
import { type DocumentRoute, documentRoute } from '#http/document-route.ts'
import type { App } from '#http/pipeline.ts'
import type { ExtraRoute, NotFoundPage } from '#http/routes.ts'
import { type Coverage, coverageRoute } from '#operations/coverage.ts'
import { openMcpRoute } from '#operations/mcp/mcp-route.ts'
import { networksOf } from '#runtime/settings/validators.ts'
import type { AppContext } from '../context.ts'
import type { Health } from './create-health.ts'
import type { Authorization } from './open-authorization.ts'

export interface RouteParts {
  readonly version: string
  /** Where the server listens. Undefined before the start has ended, when there are no requests. */
  readonly url: () => string | undefined
  readonly health: Health
  readonly authorization: Authorization
  readonly coverage: () => Promise<Coverage>
  readonly progressBoard: ProgressBoard
  readonly metricsHistory: HistoryRecorder | undefined
  readonly demoKey: string | undefined
}

export interface Routes {
  readonly all: readonly ExtraRoute[]
  readonly openapi: DocumentRoute
  readonly notFoundPage: NotFoundPage | undefined
}

export async function createRoutes(context: AppContext, app: App, parts: RouteParts): Promise<Routes> {
  const { settings } = context
  const { version, health, coverage, metricsHistory, authorization, demoKey } = parts
  const openapiRoute = documentRoute(app, '/openapi.json', () =>
    openapi({
      serverUrl: settings.server.publicUrl || withoutWildcard(parts.url() ?? ''),
      networks: networksOf(settings),
      numbersAsText: settings.fx.numbersAsText,
    }),
  )
  const { routes: ofConsole, notFoundPage } = consoleRoutes(context, {
    ...{ version, coverage, metricsHistory, demoKey },
    readiness: health.readiness,
    board: parts.progressBoard,
    authorizer: authorization.authorizer,
    badKeyThrottle: authorization.badKeyThrottle,
  })
  const all = [
    ...health.routes,
    openapiRoute,
    labelExportRoute,
    coverageRoute(coverage),
    ...(settings.mcp.enabled ? [await openMcpRoute(app, version)] : []),
    ...ofConsole,
  ]
  return { all, openapi: openapiRoute, notFoundPage }
}

/** Callers cannot connect to the address of a server that listens on all of them. */
const withoutWildcard = (url: string): string => url.replace(/\/\/(0\.0\.0\.0|\[::\])(?=:)/, '//localhost')
