// Latency at half of the maximum load while the server ingests: imports of 100 000 labels, a market feed of 100 000
// records, epochs of a million validators. Each stage begins when the one before has written everything. Goals: p99 of
// 4.3, 4.8 and quotes ≤ 3 × the value without ingest, ingest ≥ 0.5 × its speed without requests, ingest of epochs ≥ 80 ×
// real time.
//
// 1. A stage sends each kind of request for some seconds, in turn, five times. Its p99 is the median of these rounds. A
//    stage has fewer rounds if its time is over or if everything has been ingested, so that all stages take about ten
//    minutes.
// 2. The load generator and the sources stand for other machines. On Linux they run on the first core, and the server and
//    its commands on the others. Elsewhere they compete with the server, and their delays count as delays of the server.
// 3. It also prints the memory of the server before the first request, the longest turn of the server's event loop (with
//    little CPU time, the server waited for a core or a disk), and the share of the time in which its main thread could
//    run but had no core.
import { type ChildProcess, fork, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { firstLine, launch, median } from './measure.ts'

const rounds = Number(process.env.BENCH_ROUNDS ?? 5)
/** Of one kind of request in a round. */
const seconds = Number(process.env.BENCH_SECONDS ?? 5)
/** Of all rounds of a stage, and at most one more. */
const stageSeconds = Number(process.env.BENCH_STAGE_SECONDS ?? 75)
const validatorCount = Number(process.env.BENCH_VALIDATORS ?? 1_000_000)
const recordCount = Number(process.env.BENCH_RECORDS ?? 100_000)
const connections = 32
const epochSeconds = 384
const epochsPerHour = 9
const epochs = 60
const dir = mkdtempSync(join(tmpdir(), 'tetrad-tails-'))
const children: ChildProcess[] = []

function start(file: string, ...args: string[]): ChildProcess {
  const child = launch(file, ...args)
  children.push(child)
  return child
}

/** Rule 2. `taskset` is part of Linux; the threads of a process that start later inherit the cores. */
function runOn(cores: string, { pid }: ChildProcess): void {
  const { status } = spawnSync('taskset', ['--all-tasks', '--cpu-list', '--pid', cores, String(pid)])
  if (status !== 0 && !isShared) console.log('All processes share all cores: taskset is missing, or there is only one.')
  isShared ||= status !== 0
}
let isShared = false
const otherMachines = '0'
const serverCores = `1-${availableParallelism() - 1}`

interface Load {
  readonly done: number
  readonly failed: number
  readonly seconds: number
  readonly p50Ms: number
  readonly p99Ms: number
}

interface Turns {
  readonly wallMs: number
  readonly cpuMs: number
  readonly waitedShare: number
}

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
const post = (url: string, method = 'POST') => fetch(url, { method })
const perSecond = (count: number, sinceMs: number) => count / ((performance.now() - sinceMs) / 1000)

function save(name: string, content: string): string {
  const file = join(dir, name)
  writeFileSync(file, content)
  return file
}

/** As a user runs it, with the data folder of the running server. Each import has labels of its own. */
async function importLabels(data: string, prefix: string): Promise<void> {
  const rows = Array.from({ length: recordCount }, (_, at) => `${prefix}-${at},Entity number ${at}`)
  const file = save('labels.csv', ['slug,name', ...rows].join('\n'))
  const command = join(import.meta.dirname, '../cli/tetrad.js')
  const args = [command, 'labels', 'import', file, '--chain', '1', '--source', 'bench', '--data', data]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] })
  children.push(child)
  runOn(serverCores, child)
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error(`the import of labels ended with ${code}`)
}

try {
  const node = fork(join(import.meta.dirname, 'epoch-node.ts'), [validatorCount, epochs].map(String))
  children.push(node)
  runOn(otherMachines, node)
  const [nodeUrl] = (await once(node, 'message')) as [string]
  const finalize = async (epoch: number) => {
    node.send(epoch)
    await once(node, 'message')
  }
  const feedServer = start('feed.ts', String(recordCount))
  runOn(otherMachines, feedServer)
  const { url: feedUrl } = await firstLine<{ url: string }>(feedServer)
  const sources = {
    validators: {
      networks: {
        mainnet: { beacon: { urls: [nodeUrl], acceptAnyChain: true, fromEpoch: 0, everyMs: 1000 } },
      },
    },
    markets: {
      feeds: [{ id: 'bench', url: feedUrl, everyMs: 1000, perSecond: 1000 }],
    },
  }
  const data = join(dir, 'data')
  const server = start('answers-server.ts', data, JSON.stringify(sources))
  runOn(serverCores, server)
  const lines = createInterface({ input: server.stdout as NodeJS.ReadableStream })[Symbol.asyncIterator]()
  const nextLine = async <T>() => JSON.parse(String((await lines.next()).value)) as T
  const { port, slug, address, keys } = await nextLine<{
    readonly port: number
    readonly slug: string
    readonly address: string
    readonly keys: readonly string[]
  }>()
  const ask = <T>(line: string) => {
    server.stdin?.write(`${line}\n`)
    return nextLine<T>()
  }
  const storedEpochs = () => ask<number>('epochs')
  /** Since the last call. */
  const takeTurns = () => ask<Turns>('turns')
  const feedProgress = () => ask<{ readonly markets: number; readonly isReading: boolean }>('feed')

  const get = (path: string) => `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n`
  const body = JSON.stringify({
    from: { currency: 'USDC', amount: '1000' },
    to: { currency: 'EURC' },
    tenor: 'instant',
    recipientAddress: '0x1111111111111111111111111111111111111111',
  })
  const quote = (key: string) =>
    `POST /v1/exchange/fx/quotes HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
  const fundedBy = (key: string) =>
    get(`/v2/api?chainid=1&module=account&action=fundedby&address=${address}&apikey=${key}`)
  const kinds = [
    { name: '4.3', requests: save('fundings.json', JSON.stringify(keys.map(fundedBy))) },
    { name: '4.8', requests: save('market.json', JSON.stringify([get(`/markets/slug/${slug}`)])) },
    { name: 'quotes', requests: save('quotes.json', JSON.stringify(keys.map(quote))) },
  ]
  const load = (requests: string, forSeconds: number, rate = 0) => {
    const options = [port, requests, forSeconds, connections, rate].map(String)
    const generator = start('load.ts', ...options)
    runOn(otherMachines, generator)
    return firstLine<Load>(generator)
  }

  /** Linux only. */
  const status = process.platform === 'linux' ? readFileSync(`/proc/${server.pid}/status`, 'utf8') : ''
  console.log(
    `memory before the first request: ${Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024)} MiB`,
  )

  const rates: number[] = []
  for (const { name, requests } of kinds) {
    await load(requests, 3)
    const { done, seconds: took } = await load(requests, 3)
    rates.push(done / took / 2)
    console.log(`${name}: half of the maximum is ${Math.round(done / took / 2).toLocaleString('en')}/s`)
  }
  /** By kind of request, without ingest. */
  const p99AloneMs = new Map<string, number>()
  /** `isOver`: everything has been ingested. */
  const measure = async (during: string, isOver = async () => false) => {
    const results = new Map(kinds.map(({ name }) => [name, [] as (Load & Turns)[]]))
    const endMs = performance.now() + stageSeconds * 1000
    let done = 0
    do {
      for (const [at, { name, requests }] of kinds.entries()) {
        await takeTurns()
        const figures = await load(requests, seconds, rates[at])
        results.get(name)?.push({ ...figures, ...(await takeTurns()) })
      }
      done += 1
    } while (done < rounds && performance.now() < endMs && !(await isOver()))
    for (const [name, all] of results) printRounds(during, name, all)
  }
  const printRounds = (during: string, name: string, all: readonly (Load & Turns)[]) => {
    const [p50Ms, p99Ms] = [median(all.map((round) => round.p50Ms)), median(all.map((round) => round.p99Ms))]
    const aloneMs = p99AloneMs.getOrInsert(name, p99Ms)
    const longest = all.reduce((one, other) => (one.wallMs > other.wallMs ? one : other))
    const waitedShare = median(all.map((round) => round.waitedShare))
    const failed = all.reduce((sum, round) => sum + round.failed, 0)
    console.log(
      [
        `${during}: ${name} p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms`,
        `${(p99Ms / aloneMs).toFixed(1)} × alone (goal ≤ 3), median of ${all.length}`,
        `longest turn ${longest.wallMs.toFixed(0)} ms with ${longest.cpuMs.toFixed(0)} ms CPU`,
        `no core for ${(100 * waitedShare).toFixed(0)} % of the time`,
        ...(failed > 0 ? [`${failed} refused`] : []),
      ].join(', '),
    )
  }
  const printIngest = (text: string) => console.log(`  ingest: ${text}`)
  const versusIdle = (speed: number, idle: number) => `${(speed / idle).toFixed(2)} × idle (goal ≥ 0.5)`

  await measure('nothing else')

  let imported = 0
  /** Imports until the work is done, and ends with the import that runs then. */
  const labelsPerSecond = async (work: () => Promise<unknown>) => {
    const [before, startMs] = [imported, performance.now()]
    let isOver = false
    const working = work().finally(() => {
      isOver = true
    })
    do await importLabels(data, `labels-${imported++}`)
    while (!isOver)
    const speed = perSecond((imported - before) * recordCount, startMs)
    await working
    return speed
  }
  const idleLabels = await labelsPerSecond(async () => {})
  printIngest(`${idleLabels.toFixed(0)} labels/s without requests`)
  const labels = await labelsPerSecond(() => measure('import of labels'))
  printIngest(`${labels.toFixed(0)} labels/s, ${versusIdle(labels, idleLabels)}`)

  await post(feedUrl)
  const marketsPerSecond = async (work: () => Promise<unknown>) => {
    const [{ markets: before }, startMs] = [await feedProgress(), performance.now()]
    await work()
    const { markets } = await feedProgress()
    return { markets, speed: perSecond(markets - before, startMs) }
  }
  const { speed: idleFeed } = await marketsPerSecond(() => wait(seconds * 2000))
  printIngest(`${idleFeed.toFixed(0)} new markets/s without requests`)
  const isFeedRead = async () => (await feedProgress()).markets >= recordCount
  const feed = await marketsPerSecond(() => measure('feed of markets', isFeedRead))
  const feedRatio = versusIdle(feed.speed, idleFeed)
  printIngest(`${feed.speed.toFixed(0)} new markets/s, ${feedRatio}, ${feed.markets} of ${recordCount}`)
  await post(feedUrl, 'DELETE')
  while ((await feedProgress()).isReading) await wait(200)

  await finalize(2)
  while ((await storedEpochs()) === 0) await wait(500)
  await finalize(epochs)
  const [before, startMs] = [await storedEpochs(), performance.now()]
  // Epochs are stored by the hour, and the last hour is not complete.
  const isAlmostRead = async () => (await storedEpochs()) >= epochs - 2 * epochsPerHour
  await measure(`epochs of ${validatorCount} validators`, isAlmostRead)
  let stored = await storedEpochs()
  for (; stored === before; stored = await storedEpochs()) await wait(500)
  printIngest(`${(perSecond(stored - before, startMs) * epochSeconds).toFixed(0)} × real time (goal ≥ 80 ×)`)
} finally {
  for (const child of children) child.kill('SIGKILL')
  rmSync(dir, { recursive: true, force: true })
}
