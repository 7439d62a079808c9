// Prints what indexing a chain costs: CPU time per block of this process with all its threads, and how much more that is
// than fetching and parsing the same responses of the node. The node is simulated in another process. Prints how the time
// of the main thread divides among the stages of indexing, from a CPU profile of one more run. Compares blocks after the
// Amsterdam fork, as large as those of mainnet, read from traces and from logs. Then prints rows/s and bytes per address
// for many addresses: `node bench/chain-index.ts 5000000`.
import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { complete } from '#core/schema-check.ts'
import { createExplorerCaches } from '#explorer/context.ts'
import { type Funding, putFundings } from '#explorer/funding/fundings.ts'
import { catchUpIndex } from '#explorer/funding/index/index-chain.ts'
import { openNode } from '#explorer/nodes.ts'
import { systemClock } from '#runtime/clock.ts'
import { silentLog } from '#runtime/log.ts'
import { systemRandom } from '#runtime/random.ts'
import { SettingsSchema } from '#runtime/settings.ts'
import { fetchBytes } from '#sources/http-client.ts'
import { openIngest } from '#storage/open.ts'
import { firstLine, launch, median } from './measure.ts'
import { type Stages, stageTimes } from './stages.ts'

const blocks = 1500
/** With about 120 transactions each. */
const mainnetBlocks = 150
const rounds = 5
const only = process.argv[3]
const addresses = Number(process.argv[2] ?? 1_000_000)
/** The fundings of 100 blocks, with 200 per block. */
const batchSize = 20_000
const dir = mkdtempSync(join(tmpdir(), 'tetrad-index-'))
const child = launch('simulated-node.ts', String(blocks))
const format = (value: number) => Math.round(value).toLocaleString('en')

const indexStages: Stages = [
  [/batch-results\.ts tryParse$|evm\/decoder\.ts toText$/, 'parse'],
  [/evm\/keccak256\.ts/, 'hash'],
  [/evm\/(logged-receipts|json-bytes|amsterdam|rlp)\.ts/, 'read receipts'],
  [/evm\/validate\.ts/, 'validate'],
  [/evm\/(large-results|trace-transfers|trace-recovery|batch-results)\.ts/, 'decode'],
  [/sqlite\.ts insertMany$/, 'insert'],
  [/sqlite\.ts #commit$/, 'commit'],
  [/server\/(explorer|core)\//, 'find first fundings'],
  [/^node:|http-client|server\/sources\/evm\//, 'fetch'],
]

type Requests = readonly Parameters<typeof fetchBytes>[]

async function measureIndexing(): Promise<void> {
  const { url, transfers } = await firstLine<{ url: string; transfers: number }>(child)
  // The first run compiles the code that the others measure.
  await indexChain(url, 4)
  for (const parallel of [1, 4]) {
    const { rows, requests, seconds, cpuMs } = await indexChain(url, parallel)
    const parseCpuMs = await fetchAndParse(requests)
    console.log(
      `index, ${parallel} parallel ranges: ${(cpuMs / blocks).toFixed(2)} ms CPU per block, ${(cpuMs / parseCpuMs).toFixed(2)} of fetching and parsing alone (${(parseCpuMs / blocks).toFixed(2)} ms); ${format(blocks / seconds)} blocks/s, ${format(transfers / seconds)} transfers/s, ${format(rows)} first fundings`,
    )
  }
  console.log(`main thread, 4 parallel ranges: ${await profileIndexing(url)}`)
}

async function compareTracesAndLogs(): Promise<void> {
  const node = launch('mainnet-node.ts', String(mainnetBlocks))
  try {
    const { url, blocks, transactions } = await firstLine<{ url: string; blocks: number; transactions: number }>(node)
    const userMs: Record<string, number[]> = { traces: [], logs: [] }
    const rows: number[] = []
    for (let round = 0; round <= rounds; round++)
      for (const [name, all] of Object.entries(userMs)) {
        const indexed = await indexChain(url, 4, name === 'logs')
        rows.push(indexed.rows)
        // The first round compiles the code, and the node prepares its responses.
        if (round > 0) all.push(indexed.userMs)
      }
    if (new Set(rows).size !== 1) throw new Error(`different numbers of first fundings: ${rows}`)
    const [traces, logs] = [median(userMs.traces ?? []), median(userMs.logs ?? [])]
    console.log(
      `blocks of mainnet's size, ${format(transactions / blocks)} transactions: ${(logs / blocks).toFixed(2)} ms user CPU per block from logs, ${(traces / blocks).toFixed(2)} ms from traces, ${(logs / traces).toFixed(2)} of it (goal 0.50)`,
    )
    for (const isByLogs of [false, true])
      console.log(`main thread, from ${isByLogs ? 'logs' : 'traces'}: ${await profileIndexing(url, isByLogs)}`)
  } finally {
    node.kill()
  }
}

async function profileIndexing(url: string, isByLogs?: boolean): Promise<string> {
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.setSamplingInterval', { interval: 200 })
  await session.post('Profiler.start')
  await indexChain(url, 4, isByLogs)
  const times = Object.entries(stageTimes((await session.post('Profiler.stop')).profile, indexStages))
  session.disconnect()
  const sum = times.reduce((all, [, us]) => all + us, 0)
  const shares = times
    .toSorted(([, a], [, b]) => b - a)
    .map(([stage, us]) => `${stage} ${Math.round((us / sum) * 100)} %`)
  return shares.join(', ')
}

async function indexChain(url: string, parallel: number, isByLogs = true) {
  const chains = [{ id: '1', name: 'Simulated', mode: 'index', rpc: [{ url, batchMax: 20 }] }]
  const state = await openIngest(mkdtempSync(join(dir, 'index-')))
  const { value: settings } = complete(SettingsSchema, { explorer: { chains, index: { parallel } } })
  const [chain] = settings.explorer.chains
  if (!chain) throw new Error('no chain')
  const requests: Parameters<typeof fetchBytes>[] = []
  const post = async (...request: Parameters<typeof fetchBytes>) => {
    requests.push(request)
    return (await fetchBytes(...request)).bytes
  }
  const node = openNode(chain, { clock: systemClock }, { post })
  await node.capabilities()
  if (!isByLogs) node.distrustLogs()
  let rows = 0
  const [fromMs, startCpu] = [performance.now(), process.cpuUsage()]
  const parts = { clock: systemClock, random: systemRandom, log: silentLog, settings }
  await catchUpIndex({ ingest: state, ...parts, explorer: createExplorerCaches() }, node, (event) => {
    if (event.is === 'written') rows += event.rows
  })
  const [seconds, cpuMs] = [(performance.now() - fromMs) / 1000, cpuMsSince(startCpu)]
  const userMs = process.cpuUsage(startCpu).user / 1000
  await state.close()
  return { rows, requests, seconds, cpuMs, userMs }
}

const cpuMsSince = (start: NodeJS.CpuUsage): number => {
  const { user, system } = process.cpuUsage(start)
  return (user + system) / 1000
}

/** The CPU time that a reader needs who trusts every response and stores nothing. */
async function fetchAndParse(requests: Requests): Promise<number> {
  const startCpu = process.cpuUsage()
  // The signals of the original requests have aborted.
  for (const [url, { signal: _, ...options }] of requests)
    JSON.parse(new TextDecoder().decode((await fetchBytes(url, options)).bytes))
  return cpuMsSince(startCpu)
}

function fundingOf(number: number): Funding {
  const hash = createHash('sha256').update(String(number)).digest('hex')
  const block = Math.floor(number / 200)
  const position = { block, txIndex: number % 200, position: 0, timeUnix: 1_600_000_000 + block * 12 }
  const [address, funder] = [`0x${hash.slice(0, 40)}`, `0x${hash.slice(24, 64)}`]
  return {
    chain: '1',
    address,
    funder,
    tx: `0x${hash}`,
    valueWei: 10n ** 15n * BigInt((number % 5000) + 1),
    ...position,
  }
}

async function measureStoring(): Promise<void> {
  const folder = join(dir, 'rows')
  const state = await openIngest(folder)
  const fromMs = performance.now()
  let stepMs = fromMs
  for (let from = 0; from < addresses; from += batchSize) {
    const rows = Array.from({ length: Math.min(batchSize, addresses - from) }, (_, at) => fundingOf(from + at))
    await state.write((tx) => putFundings(tx, rows))
    const done = from + rows.length
    if (done % 1_000_000 === 0) {
      const nowMs = performance.now()
      console.log(`  ${format(done)} addresses: ${format(1_000_000_000 / (nowMs - stepMs))} rows/s in the last million`)
      stepMs = nowMs
    }
  }
  const seconds = (performance.now() - fromMs) / 1000
  await state.close()
  const bytes = statSync(join(folder, 'ingest.sqlite')).size
  console.log(
    `store: ${format(addresses / seconds)} rows/s over ${format(addresses)} addresses, ${(bytes / addresses).toFixed(0)} bytes per address`,
  )
}

try {
  if (only !== 'logs') await measureIndexing()
  child.kill()
  await compareTracesAndLogs()
  if (only === 'logs') process.exit()
  await measureStoring()
} finally {
  child.kill()
  rmSync(dir, { recursive: true, force: true })
}
