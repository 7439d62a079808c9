// `npm test`: types, lint, then every test file; then what was covered and what was left out, in words.
import { spawnSync } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { delimiter, join, normalize } from 'node:path'

const root = normalize(join(import.meta.dirname, '..'))
const bin = (name: string) => join(root, 'node_modules', '.bin', name)

function step(words: string, command: string, args: readonly string[]): void {
  process.stdout.write(`\n▸ ${words}\n`)
  const done = spawnSync(command, args, { cwd: root, stdio: 'inherit' })
  if (done.error) throw done.error
  if (done.status !== 0) {
    process.stdout.write(`\n✖ ${words}: failed (${done.status ?? done.signal})\n`)
    process.exit(done.status ?? 1)
  }
}

/**
 * The native part of the EVM that tests run on asks for a newer Node than npm may have run on, and npm then leaves it out
 * without a word. Here npm runs on our own Node. Without it the tests that need it say that they were left out.
 */
function fetchEvm(): void {
  const scope = join(root, 'node_modules', '@nomicfoundation')
  const { optionalDependencies = {} } = JSON.parse(readFileSync(join(scope, 'edr', 'package.json'), 'utf8')) as {
    optionalDependencies?: Record<string, string>
  }
  const name = `@nomicfoundation/edr-${process.platform}-${process.arch}${process.platform === 'linux' ? '-gnu' : ''}`
  const version = optionalDependencies[name]
  if (!version || existsSync(join(root, 'node_modules', name))) return
  process.stdout.write(`\n▸ Fetching ${name}\n`)
  const path = [join(root, 'node_modules', '.bin'), process.env.PATH].join(delimiter)
  spawnSync('npm', ['install', '--no-save', '--ignore-scripts', '--no-audit', '--no-fund', `${name}@${version}`], {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, PATH: path },
  })
}

const asked = process.argv.slice(2)
const files = globSync(asked.length > 0 ? asked : '{api,server,cli,conform,console,sim,test,docs}/**/*.test.ts', {
  cwd: root,
  exclude: ['api/dist/**'],
}).sort()

if (asked.length === 0) {
  fetchEvm()
  step('Types (tsc)', bin('tsc'), [])
  step('Types of the console (tsc)', bin('tsc'), ['-p', 'console'])
  step('Lint and format (biome)', bin('biome'), ['check', '.'])
  step('Console (vite)', bin('vite'), ['build', 'console', '--logLevel', 'warn'])
}
step(`Tests (${files.length} files)`, process.execPath, [
  '--test',
  '--test-concurrency=2',
  '--test-timeout=240000',
  '--test-reporter=./test/summary.ts',
  ...files,
])
