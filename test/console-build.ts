// The build of the console that tests use, in console/dist.
import { strict as assert } from 'node:assert'
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join, normalize } from 'node:path'

const root = normalize(join(import.meta.dirname, '..'))

export const consoleDir = join(root, 'console/dist')

/** With the strictest umask: every user must be able to read the files nevertheless. */
export const consoleBuild = {
  program: 'sh',
  args: ['-c', 'umask 077 && exec node_modules/.bin/vite build console --logLevel warn'],
} as const

/** `npm test` builds the console first; a single test file may run without a build. */
export function buildConsole(): void {
  if (existsSync(join(consoleDir, 'docs/index.html'))) return
  const { status, stderr } = spawnSync(consoleBuild.program, consoleBuild.args, { cwd: root, encoding: 'utf8' })
  assert.equal(status, 0, stderr)
}
