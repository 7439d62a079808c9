// All routes of the console: its public pages (behaviour/operations.md#console-files) and the API for operators
// (behaviour/operations.md#console-sign-in).
import { join } from 'node:path'
import type { Authorizer } from '#http/authorize.ts'
import type { BadKeyThrottle } from '#http/bad-key-throttle.ts'
import type { ExtraRoute, NotFoundPage } from '#http/routes.ts'
import type { AppContext } from '#server/context.ts'
import { alertRoutes } from './alerts.ts'
import { explorerRoutes } from './explorer.ts'
import { type HistoryRecorder, historyRoute } from './history.ts'
import { keyRoutes } from './keys.ts'
import { overrideRoutes } from './overrides.ts'
import { type OverviewParts, overviewRoute } from './overview.ts'
import { quoteRoutes } from './quotes.ts'
import { signInRoutes } from './sign-in.ts'
import { createPages } from './static-files.ts'
import { tradeRoutes } from './trades.ts'
import { validatorRoutes } from './validators.ts'

/** Output folder of the console build. */
export const consoleDir = join(import.meta.dirname, '../../console/dist')

export interface ConsoleOptions extends OverviewParts {
  readonly authorizer: Pick<Authorizer, 'authorize'>
  /** Shared with authorization: invalid links and invalid keys count together. */
  readonly badKeyThrottle: BadKeyThrottle
  /** Undefined if the console is disabled. */
  readonly metricsHistory: HistoryRecorder | undefined
  /** Key for all visitors of the demo. */
  readonly demoKey?: string | undefined
  /** Folder of another build, for tests. */
  readonly dir?: string
}

export interface ConsoleRoutes {
  readonly routes: readonly ExtraRoute[]
  /** Undefined if the console is disabled. */
  readonly notFoundPage: NotFoundPage | undefined
}

export function consoleRoutes(context: AppContext, parts: ConsoleOptions): ConsoleRoutes {
  const { metricsHistory } = parts
  if (!context.settings.console.enabled || !metricsHistory) return { routes: [], notFoundPage: undefined }
  const pages = createPages(context.settings, parts.dir ?? consoleDir)
  const routes = [
    ...pages.routes,
    ...signInRoutes(context, parts),
    ...keyRoutes,
    ...quoteRoutes,
    ...overrideRoutes,
    ...tradeRoutes,
    ...alertRoutes,
    ...explorerRoutes(context, parts.authorizer),
    ...validatorRoutes(context, parts.authorizer),
    overviewRoute(context, parts),
    historyRoute(metricsHistory),
  ]
  return { routes, notFoundPage: pages.notFound }
}
