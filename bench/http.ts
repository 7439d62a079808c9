// Throughput of 4.8 and 4.3 relative to a bare node:http server that returns the same bytes, and of 4.3 relative to the
// stack that one would write by hand (conventional.ts), with keys, limits, usage and metrics on. The servers run in their
// own processes. Rounds alternate, so that noise affects all; ratios are those of the medians. CPU time per request is
// that of the whole process and also meaningful on a busy machine; it is only known on Linux. Also prints where the time
// of a request goes.
import type { ChildProcess } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { firstLine, launch, median } from './measure.ts'

const rounds = Number(process.env.BENCH_ROUNDS ?? 5)
const seconds = Number(process.env.BENCH_SECONDS ?? 2)
const connections = 32
const dir = mkdtempSync(join(tmpdir(), 'tetrad-bench-'))
const children: ChildProcess[] = []

interface Load {
  readonly done: number
  readonly failed: number
  readonly seconds: number
}

interface Peer {
  readonly name: string
  readonly child: ChildProcess
  readonly port: number
  readonly goal: number
}

function start(file: string, ...args: string[]): ChildProcess {
  const child = launch(file, ...args)
  children.push(child)
  return child
}

const load = (port: number, file: string, forSeconds: number) =>
  firstLine<Load>(start('load.ts', String(port), file, String(forSeconds), String(connections)))

async function startPeer(name: string, goal: number, file: string, ...args: string[]): Promise<Peer> {
  const child = start(file, ...args)
  return { name, child, goal, port: (await firstLine<{ port: number }>(child)).port }
}

/** User and system time of a process so far. Linux counts it in hundredths of a second. */
function cpuUs({ pid }: ChildProcess): number {
  const file = `/proc/${pid}/stat`
  if (!existsSync(file)) return Number.NaN
  const fields = readFileSync(file, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) * 10_000
}

/** Writes a file for the other processes and returns its path. */
function save(name: string, content: string | Uint8Array): string {
  const file = join(dir, name)
  writeFileSync(file, content)
  return file
}

const get = (path: string) => `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n`
const perSecond = (value: number) => `${Math.round(value).toLocaleString('en')}/s`

async function compare(name: string, tetrad: Peer, requests: string, peers: readonly Peer[]): Promise<void> {
  const all = [tetrad, ...peers]
  const rates = all.map((): number[] => [])
  const costs = all.map((): number[] => [])
  for (const { port: warmed } of all) await load(warmed, requests, 3)
  for (let round = 0; round < rounds; round++) {
    for (const [at, one] of all.entries()) {
      const startUs = cpuUs(one.child)
      const { done, failed, seconds: took } = await load(one.port, requests, seconds)
      if (failed > 0) throw new Error(`${name}: ${one.name} refused ${failed} of ${done} requests`)
      rates[at]?.push(done / took)
      costs[at]?.push((cpuUs(one.child) - startUs) / done)
    }
  }
  const [rate = 0, ...otherRates] = rates.map(median)
  const [cost = 0, ...otherCosts] = costs.map(median)
  console.log(`${name}: ${perSecond(rate)}, ${cost.toFixed(0)} µs CPU per request`)
  for (const [at, peer] of peers.entries()) {
    const [peerRate = 0, peerCost = 0] = [otherRates[at], otherCosts[at]]
    console.log(
      `  ${(rate / peerRate).toFixed(2)} of ${peer.name} (goal ≥ ${peer.goal}), ${(peerCost / cost).toFixed(2)} by CPU time; ${perSecond(peerRate)}, ${peerCost.toFixed(0)} µs`,
    )
  }
}

/** Starts a profile with the line `profile`, and reads it with the next line. */
async function printStages(server: ChildProcess, lines: AsyncIterator<string>, port: number, requests: string) {
  server.stdin?.write('profile\n')
  const { done } = await load(port, requests, seconds)
  server.stdin?.write('stop\n')
  const times = JSON.parse(String((await lines.next()).value)) as Record<string, number>
  const sorted = Object.entries(times).sort(([, a], [, b]) => b - a)
  console.log(`  µs per request: ${sorted.map(([stage, us]) => `${stage} ${(us / done).toFixed(1)}`).join(', ')}`)
}

try {
  const server = start('answers-server.ts', join(dir, 'data'))
  if (!server.stdout) throw new Error('no output to read')
  const lines = createInterface({ input: server.stdout })[Symbol.asyncIterator]()
  const { port, slug, address, keys } = JSON.parse(String((await lines.next()).value)) as {
    readonly port: number
    readonly slug: string
    readonly address: string
    readonly keys: readonly string[]
  }
  const tetrad: Peer = { name: 'tetrad', child: server, port, goal: 1 }
  const fetchBody = async (path: string) =>
    new Uint8Array(await (await fetch(`http://127.0.0.1:${port}${path}`)).arrayBuffer())

  const marketPath = `/markets/slug/${slug}`
  const market = save('market.json', await fetchBody(marketPath))
  const marketRequests = save('market-requests.json', JSON.stringify([get(marketPath)]))
  await compare('4.8 markets.bySlug', tetrad, marketRequests, [
    await startPeer('bare node:http', 0.65, 'bare.ts', market),
  ])
  await printStages(server, lines, port, marketRequests)

  const paths = keys.map((key) => `/v2/api?chainid=1&module=account&action=fundedby&address=${address}&apikey=${key}`)
  const funding = save('funding.json', await fetchBody(paths[0] ?? ''))
  const fundingRequests = save('funding-requests.json', JSON.stringify(paths.map(get)))
  const keysFile = save('keys.json', JSON.stringify(keys))
  await compare('4.3 explorer.fundedBy', tetrad, fundingRequests, [
    await startPeer('bare node:http', 0.45, 'bare.ts', funding),
    await startPeer('the conventional stack', 2, 'conventional.ts', funding, keysFile),
  ])
  await printStages(server, lines, port, fundingRequests)
} finally {
  for (const child of children) child.kill('SIGKILL')
  rmSync(dir, { recursive: true, force: true })
}
