// The server that bench/http.ts and bench/tails.ts measure: stored fundings and markets, and enough keys that the limit
// of 4.3 (two calls per second and key) is never reached. Arguments: the data folder and, as JSON, settings of sources to
// ingest; default: none. For a line `epochs` on stdin it prints how many epochs of mainnet are stored, for `feed` how many
// markets of feeds are stored and whether a feed is being read, for `turns` the longest turn of the event loop since the
// last such line, how much CPU time it took, and the share of the time since then in which the main thread could run but
// had no core. For a line `profile` it starts a CPU profile; for any other line it stops it and prints the microseconds of
// each stage of a request.
import { readFileSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { createInterface } from 'node:readline'
import { contract } from '#api/contract/contract.ts'
import { complete } from '#core/schema-check.ts'
import { pushRate } from '#fx/extensions/push-rate/push-rate.ts'
import { openLog } from '#runtime/log.ts'
import { SettingsSchema } from '#runtime/settings.ts'
import { startServer } from '#server/app.ts'
import { createKey } from '#storage/keys.ts'
import { loadDemoExplorer, loadDemoMarkets } from '#test/load-demo.ts'
import { coveredEpochs } from '#validators/duties/coverage.ts'
import { stageTimes } from './stages.ts'

const keyCount = 10_000
const seed = 'harbour'
const [, , dataDir = '', sources] = process.argv
const { value: settings } = complete(SettingsSchema, {
  server: { port: 0, anonymousPerSecond: 100_000 },
  ...(sources === undefined ? { ingest: { enabled: false } } : JSON.parse(sources)),
  fx: {
    spender: '0x3333333333333333333333333333333333333333',
    sources: [{ id: 'desk', kind: 'push', staleMs: 86_400_000 }],
  },
})
const log = openLog('error', (line) => process.stderr.write(line))
const server = await startServer({ settings, dataDir, log })
const { context } = server
await loadDemoExplorer(context, seed)
const { address } = contract['explorer.fundedBy'].example.input
const { slug } = await loadDemoMarkets(context, seed)
await pushRate(context, { pair: 'EUR/USD', rate: '1.0842' })
const keys: string[] = []
const input = { name: 'bench', plan: 'enterprise' } as const
for (let count = 0; count < keyCount; count += 50) {
  const created = Array.from({ length: 50 }, () => createKey(context.state, input, context.clock, context.random))
  keys.push(...(await Promise.all(created)).map(({ key }) => key))
}
console.log(JSON.stringify({ port: Number(new URL(server.url).port), address, slug, keys }))

const countEpochs = async () =>
  (await coveredEpochs(context.duties, 'mainnet')).reduce((sum, { from, until }) => sum + until - from, 0)

const readFeedProgress = async () => {
  const count = async (sql: string) => (await context.ingest.get<{ n: number }>(sql))?.n ?? 0
  return {
    markets: await count("select count(*) as n from market_records where kind = 'market'"),
    isReading: (await count("select count(*) as n from market_feeds where holder <> ''")) > 0,
  }
}

/** A turn that took much longer than its CPU time waited for a core or a disk. */
let longest = { wallMs: 0, cpuMs: 0 }
let current = { startMs: performance.now(), cpu: process.threadCpuUsage() }
if (sources !== undefined) {
  setInterval(() => {
    const { user, system } = process.threadCpuUsage(current.cpu)
    const wallMs = performance.now() - current.startMs
    if (wallMs > longest.wallMs) longest = { wallMs, cpuMs: (user + system) / 1000 }
    current = { startMs: performance.now(), cpu: process.threadCpuUsage() }
  }, 5)
}

/** How long the main thread has waited for a core since the process started; 0 on systems that do not tell. */
function readWaitedMs(): number {
  if (process.platform !== 'linux') return 0
  return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')[1]) / 1e6
}
let lastTaken = { atMs: performance.now(), waitedMs: readWaitedMs() }

const takeLongestTurn = () => {
  const now = { atMs: performance.now(), waitedMs: readWaitedMs() }
  const waitedShare = (now.waitedMs - lastTaken.waitedMs) / (now.atMs - lastTaken.atMs)
  const taken = { ...longest, waitedShare }
  longest = { wallMs: 0, cpuMs: 0 }
  lastTaken = now
  return taken
}

const session = new Session()
session.connect()
await session.post('Profiler.enable')
await session.post('Profiler.setSamplingInterval', { interval: 200 })
for await (const line of createInterface({ input: process.stdin })) {
  if (line === 'profile') await session.post('Profiler.start')
  else if (line === 'epochs') console.log(JSON.stringify(await countEpochs()))
  else if (line === 'turns') console.log(JSON.stringify(takeLongestTurn()))
  else if (line === 'feed') console.log(JSON.stringify(await readFeedProgress()))
  else console.log(JSON.stringify(stageTimes((await session.post('Profiler.stop')).profile)))
}
