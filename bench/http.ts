// Goal: 4.8 reaches 0.80 and 4.3 reaches 0.70 of the request rate of a bare node:http server that returns the same
// bytes, with keys, limits and metrics on. Both servers run in their own processes. Rounds alternate, so that noise
// affects both; the ratio is that of the medians.
import type { ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { firstLine, launch, median } from './measure.ts'

const rounds = Number(process.env.BENCH_ROUNDS ?? 5)
const seconds = Number(process.env.BENCH_SECONDS ?? 2)
const connections = 32
const dir = mkdtempSync(join(tmpdir(), 'tetrad-bench-'))
const children: ChildProcess[] = []

interface Load {
  done: number
  failed: number
  seconds: number
}

function start(file: string, ...args: string[]): ChildProcess {
  const child = launch(file, ...args)
  children.push(child)
  return child
}

const load = (port: number, file: string, forSeconds: number) =>
  firstLine<Load>(start('load.ts', String(port), file, String(forSeconds), String(connections)))

const get = (path: string) => `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n`

async function compare(name: string, goal: number, port: number, paths: readonly string[]): Promise<void> {
  const sample = await fetch(`http://127.0.0.1:${port}${paths[0]}`)
  const body = Buffer.from(await sample.arrayBuffer())
  const file = join(dir, `${name}.json`)
  writeFileSync(file, body)
  const requests = join(dir, `${name}.requests.json`)
  writeFileSync(requests, JSON.stringify(paths.map(get)))
  const bare = await firstLine<{ port: number }>(start('bare.ts', file))
  const tetrad: number[] = []
  const baseline: number[] = []
  await load(port, requests, 3)
  await load(bare.port, requests, 1)
  for (let round = 0; round < rounds; round++) {
    const ours = await load(port, requests, seconds)
    if (ours.failed > 0) throw new Error(`${name}: ${ours.failed} of ${ours.done} responses were refused`)
    const theirs = await load(bare.port, requests, seconds)
    tetrad.push(ours.done / ours.seconds)
    baseline.push(theirs.done / theirs.seconds)
  }
  const ratio = median(tetrad) / median(baseline)
  const rate = (value: number) => `${Math.round(value).toLocaleString('en')}/s`
  console.log(
    `${name.padEnd(24)} ratio ${ratio.toFixed(2)} (goal ${goal.toFixed(2)})  tetrad ${rate(median(tetrad))}  bare ${rate(median(baseline))}  body ${body.length} bytes`,
  )
}

try {
  const server = await firstLine<{ port: number; slug: string; address: string; keys: string[] }>(
    start('demo-server.ts', join(dir, 'data')),
  )
  await compare('4.8 markets.bySlug', 0.8, server.port, [`/markets/slug/${server.slug}`])
  await compare(
    '4.3 explorer.fundedBy',
    0.7,
    server.port,
    server.keys.map(
      (key) => `/v2/api?chainid=1&module=account&action=fundedby&address=${server.address}&apikey=${key}`,
    ),
  )
} finally {
  for (const child of children) child.kill('SIGKILL')
  rmSync(dir, { recursive: true, force: true })
}
