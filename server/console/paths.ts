// Everything the console has at the door: its pages for anybody, its calls for the operator (decisions 0125, 0126).
import { join } from 'node:path'
import type { Guard } from '#serve/guard.ts'
import type { Extra } from '#serve/ways.ts'
import type { AppContext } from '../context.ts'
import { pagePaths } from './files.ts'
import { keyPaths } from './keys.ts'
import { type OverviewParts, overviewPath } from './overview.ts'
import { signInPaths } from './sign-in.ts'

/** Where the build puts the pages. */
export const consoleDir = join(import.meta.dirname, '../../console/dist')

export interface ConsoleParts extends OverviewParts {
  /** The one that admission uses: bad links and bad keys count together. */
  readonly guard: Guard
  /** Another build, for tests. */
  readonly dir?: string
}

export function consolePaths(context: AppContext, parts: ConsoleParts): readonly Extra[] {
  if (!context.settings.console.on) return []
  return [
    ...pagePaths(context.settings, parts.dir ?? consoleDir),
    ...signInPaths(context, parts.guard),
    ...keyPaths(context),
    overviewPath(context, parts),
  ]
}
