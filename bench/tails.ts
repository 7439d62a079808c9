// Latency at half of the maximum load while the server ingests: an import of 100 000 labels, a market feed of 100 000
// records, epochs of a million validators. Each stage begins when the one before has written everything. Goals: p99 of
// 4.3, 4.8 and quotes ≤ 3 × the value without ingest, ingest ≥ 0.5 × its speed without requests, ingest of epochs ≥ 80 ×
// real time. The server, its sources and the load generator are processes of their own; on two cores they compete, as on a
// small machine. Also prints the memory of the server before the first request, with all sources configured and nothing to
// read.
// Prints the longest turn of the server's event loop too: with little CPU time, the server waited for a core or a disk. And
// the share of the time in which its main thread could run but had no core.
import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { complete } from '#core/schema-check.ts'
import { SettingsSchema } from '#runtime/settings.ts'
import { firstLine, launch } from './measure.ts'

const seconds = Number(process.env.BENCH_SECONDS ?? 10)
const validatorCount = Number(process.env.BENCH_VALIDATORS ?? 1_000_000)
const recordCount = Number(process.env.BENCH_RECORDS ?? 100_000)
const connections = 32
const epochSeconds = 384
const firstEpoch = 9
const lastEpoch = firstEpoch + 38
const dir = mkdtempSync(join(tmpdir(), 'tetrad-tails-'))
const children: ChildProcess[] = []

function start(file: string, ...args: string[]): ChildProcess {
  const child = launch(file, ...args)
  children.push(child)
  return child
}

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
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error(`the import of labels ended with ${code}`)
}

try {
  const { genesisUnix } = complete(SettingsSchema, {}).value.validators.networks.mainnet
  const nodeArgs = ['fulu', ...[validatorCount, firstEpoch, genesisUnix].map(String)]
  const node = fork(join(import.meta.dirname, 'epoch-node.ts'), nodeArgs)
  children.push(node)
  const [nodeUrl] = (await once(node, 'message')) as [string]
  const finalize = async (epoch: number) => {
    node.send(epoch)
    await once(node, 'message')
  }
  const { url: feedUrl } = await firstLine<{ url: string }>(start('feed.ts', String(recordCount)))
  const sources = {
    validators: {
      networks: {
        mainnet: { beacon: { urls: [nodeUrl], acceptAnyChain: true, fromEpoch: firstEpoch, everyMs: 1000 } },
      },
    },
    markets: {
      feeds: [{ id: 'bench', url: feedUrl, everyMs: 1000, perSecond: 1000 }],
    },
  }
  const data = join(dir, 'data')
  const server = start('answers-server.ts', data, JSON.stringify(sources))
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
  const longestTurn = () => ask<Turns>('turns')
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
  const load = (requests: string, forSeconds: number, rate = 0) =>
    firstLine<Load>(start('load.ts', String(port), requests, String(forSeconds), String(connections), String(rate)))

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
  /** `sendOthers` runs once during each kind of request. */
  const measure = async (during: string, sendOthers: (kind: string) => Promise<string> = async () => '') => {
    for (const [at, { name, requests }] of kinds.entries()) {
      await longestTurn()
      const others = sendOthers(name)
      const { failed, p50Ms, p99Ms } = await load(requests, seconds, rates[at])
      const { wallMs, cpuMs, waitedShare } = await longestTurn()
      const waited = `no core for ${(100 * waitedShare).toFixed(0)} % of the time`
      const longest = `, longest turn ${wallMs.toFixed(0)} ms with ${cpuMs.toFixed(0)} ms CPU, ${waited}`
      const refused = failed > 0 ? `, ${failed} refused` : ''
      const aloneMs = p99AloneMs.getOrInsert(name, p99Ms)
      const figures = `p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms, ${(p99Ms / aloneMs).toFixed(1)} × alone`
      console.log(`${during}: ${name} ${figures}${longest}${refused}${await others}`)
    }
  }
  const printIngest = (text: string) => console.log(`  ingest: ${text}`)
  const versusIdle = (speed: number, idle: number) => `${(speed / idle).toFixed(2)} × idle (goal ≥ 0.5)`

  await measure('nothing else')

  const labelsPerSecond = async (prefix: string) => {
    const startMs = performance.now()
    await importLabels(data, prefix)
    return perSecond(recordCount, startMs)
  }
  const idleLabels = await labelsPerSecond('idle')
  printIngest(`${idleLabels.toFixed(0)} labels/s without requests`)
  await measure(`import of ${recordCount} labels`, async (kind) => {
    const speed = await labelsPerSecond(kind.replace('.', '-'))
    return `, ${speed.toFixed(0)} labels/s, ${versusIdle(speed, idleLabels)}`
  })

  await post(feedUrl)
  const feedSpeed = async (work: () => Promise<unknown>) => {
    const [{ markets: before }, startMs] = [await feedProgress(), performance.now()]
    await work()
    const { markets } = await feedProgress()
    return { markets, speed: perSecond(markets - before, startMs) }
  }
  const { speed: idleFeed } = await feedSpeed(() => wait(seconds * 1000))
  printIngest(`${idleFeed.toFixed(0)} new markets/s without requests`)
  const { markets, speed } = await feedSpeed(() => measure(`feed of ${recordCount} records`))
  const done = `${markets} of ${recordCount}`
  printIngest(`${speed.toFixed(0)} new markets/s, ${versusIdle(speed, idleFeed)}, ${done}`)
  await post(feedUrl, 'DELETE')
  while ((await feedProgress()).isReading) await wait(200)

  await finalize(firstEpoch + 2)
  while ((await storedEpochs()) === 0) await wait(500)
  await finalize(lastEpoch - 1)
  const [before, startMs] = [await storedEpochs(), performance.now()]
  await measure(`epochs of ${validatorCount} validators`)
  let stored = await storedEpochs()
  // Epochs are stored by the hour.
  for (; stored === before; stored = await storedEpochs()) await wait(500)
  printIngest(`${(perSecond(stored - before, startMs) * epochSeconds).toFixed(0)} × real time (goal ≥ 80 ×)`)
} finally {
  for (const child of children) child.kill('SIGKILL')
  rmSync(dir, { recursive: true, force: true })
}
