// `npm run bench [name…]`: runs the benchmarks. They print figures and goals, and never fail because of a figure.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

const all = [
  'http',
  'ladder',
  'tails',
  'hostile',
  'start',
  'console',
  'probe',
  'chain-index',
  'labels',
  'markets',
  'market-requests',
  'fx',
  'epoch',
  'ratings',
  'operator',
  'servers',
  'writes',
  'sizes',
] as const
const names = process.argv.slice(2)
for (const name of names.length > 0 ? names : all) {
  console.log(`\n▸ ${name}`)
  const { status } = spawnSync(process.execPath, [join(import.meta.dirname, `${name}.ts`)], { stdio: 'inherit' })
  if (status !== 0) process.exitCode = 1
}
