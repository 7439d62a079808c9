// `npm test`: types, lint, then every test file; then what was covered and what was left out, in words.
import { spawnSync } from 'node:child_process'
import { globSync } from 'node:fs'
import { join, normalize } from 'node:path'

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

const asked = process.argv.slice(2)
const files = globSync(asked.length > 0 ? asked : '{api,server,cli,conform,sim,test,docs}/**/*.test.ts', {
  cwd: root,
  exclude: ['api/dist/**'],
}).sort()

if (asked.length === 0) {
  step('Types (tsc)', bin('tsc'), [])
  step('Lint and format (biome)', bin('biome'), ['check', '.'])
}
step(`Tests (${files.length} files)`, process.execPath, [
  '--test',
  '--test-concurrency=2',
  '--test-timeout=240000',
  '--test-reporter=dot',
  '--test-reporter-destination=stdout',
  '--test-reporter=./test/summary.ts',
  '--test-reporter-destination=stdout',
  ...files,
])
