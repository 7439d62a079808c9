// Everything the console has at the door: its pages for anybody, its calls for the operator (behaviour/operations.md#console-files, behaviour/operations.md#console-sign-in).
import { join } from 'node:path'
import type { BadKeyThrottle } from '#http/bad-key-throttle.ts'
import type { ExtraRoute } from '#http/routes.ts'
import type { AppContext } from '#server/context.ts'
import { keyRoutes } from './keys.ts'
import { type OverviewParts, overviewRoute } from './overview.ts'
import { signInRoutes } from './sign-in.ts'
import { pageRoutes } from './static-files.ts'

/** Where the build puts the pages. */
export const consoleDir = join(import.meta.dirname, '../../console/dist')

export interface ConsoleOptions extends OverviewParts {
  /** The one that admission uses: bad links and bad keys count together. */
  readonly badKeyThrottle: BadKeyThrottle
  /** Another build, for tests. */
  readonly dir?: string
}

export function consoleRoutes(context: AppContext, parts: ConsoleOptions): readonly ExtraRoute[] {
  if (!context.settings.console.on) return []
  return [
    ...pageRoutes(context.settings, parts.dir ?? consoleDir),
    ...signInRoutes(context, parts.badKeyThrottle),
    ...keyRoutes(context),
    overviewRoute(context, parts),
  ]
}
