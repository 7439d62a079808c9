// `npm run bench [name…]`: every promise about speed, each printing ratios. Nothing here passes or fails.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

const all = [
  'http',
  'start',
  'probe',
  'chain-index',
  'labels',
  'fx',
  'epoch',
  'ratings',
  'operator',
  'servers',
  'sizes',
] as const
const names = process.argv.slice(2)
for (const name of names.length > 0 ? names : all) {
  console.log(`\n▸ ${name}`)
  const done = spawnSync(process.execPath, [join(import.meta.dirname, `${name}.ts`)], { stdio: 'inherit' })
  if (done.status !== 0) process.exitCode = 1
}
