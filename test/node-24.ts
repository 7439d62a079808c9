// The oldest Node that Tetrad runs on, for tests that start programs with it. test/run.ts installs it into the cache of
// tests, because a project can have only one version of it as a dependency.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, join, normalize } from 'node:path'

const version = '24.21.0'
const root = normalize(join(import.meta.dirname, '..'))
const folder = join(root, 'node_modules', '.cache', `node-${version}`)
const packageName = `node-${process.platform}-${process.arch}`

export const node24: string = join(folder, 'node_modules', packageName, 'bin', 'node')

/** For `skip`. */
export const noNode24: string | false = existsSync(node24) ? false : `Node ${version} is not installed`

/** An error only means that the tests are skipped. */
export function installNode24(): void {
  if (existsSync(node24)) return
  process.stdout.write(`\n▸ Installing Node ${version}\n`)
  const env = { ...process.env, PATH: [join(root, 'node_modules', '.bin'), process.env.PATH].join(delimiter) }
  const options = ['--no-save', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel', 'error']
  spawnSync('npm', ['install', '--prefix', folder, ...options, `${packageName}@${version}`], {
    cwd: root,
    env,
    stdio: 'inherit',
    timeout: 300_000,
  })
}
