// Measures the markets group with 100 000 markets. Goal: spec 4.8 reaches 0.80 of the rate of a plain node:http server with
// the same bytes, for plain, gzipped and 304 responses. Also measures the first request for a market, imports and their
// memory, changes of an event with 300 markets, the size of a version, and search.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { createWriteStream, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { ListViews } from '#markets/columns/list-views.ts'
import { findBestMatches, foundMarketsQuery, searchWords } from '#markets/extensions/search/search.ts'
import { marketAsOf } from '#markets/read/market-as-of.ts'
import { decompose, Renames } from '#markets/records/decompose.ts'
import { putMarkets } from '#markets/write/put-markets.ts'
import { openIngest } from '#storage/open.ts'
import { manyMarkets, manySlug } from './many-markets.ts'

const benchDir = import.meta.dirname
const count = Number(process.env.BENCH_MARKETS ?? 100_000)
const rounds = Number(process.env.BENCH_ROUNDS ?? 5)
const seconds = Number(process.env.BENCH_SECONDS ?? 2)
const connections = 32
const perEvent = 10
const dir = mkdtempSync(join(tmpdir(), 'tetrad-bench-markets-'))
const children: ChildProcess[] = []

const printResult = (name: string, text: string) => console.log(`${name.padEnd(26)} ${text}`)
const formatInteger = (value: number) => Math.round(value).toLocaleString('en')
const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0

function launch(args: readonly string[]): ChildProcess {
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  children.push(child)
  return child
}

async function firstLine<T>(child: ChildProcess): Promise<T> {
  if (!child.stdout) throw new Error('no output to read')
  for await (const line of createInterface({ input: child.stdout })) return JSON.parse(line) as T
  throw new Error('the process ended without a line')
}

async function makeFile(file: string): Promise<number> {
  const out = createWriteStream(file)
  let bytes = 0
  for (const record of manyMarkets({ seed: 'bench', count, perEvent })) {
    const line = `${JSON.stringify(record)}\n`
    bytes += Buffer.byteLength(line)
    if (!out.write(line)) await new Promise((resolve) => out.once('drain', resolve))
  }
  await new Promise<void>((resolve) => out.end(resolve))
  return bytes
}

/** In a child process, to measure its peak memory. */
function importFile(file: string, data: string): { read: number; seconds: number; residentMiB: number } {
  const script = `import { main } from ${JSON.stringify(join(benchDir, '../cli/main.ts'))}
    await main(['import', 'markets', ${JSON.stringify(file)}, '--data', ${JSON.stringify(data)}, '--json'])
    console.log(JSON.stringify({ residentMiB: process.resourceUsage().maxRSS / 1024 }))`
  const text = execFileSync(process.execPath, ['--input-type=module', '-e', script], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [totals, memory] = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  return { ...totals, ...memory }
}

async function imports(data: string): Promise<void> {
  const file = join(dir, 'markets.ndjson')
  const bytes = await makeFile(file)
  const first = importFile(file, data)
  const rate = (totals: { read: number; seconds: number }) => `${formatInteger(totals.read / totals.seconds)} records/s`
  printResult(
    'import',
    `${rate(first)}, ${(bytes / 1e6 / first.seconds).toFixed(1)} MB/s, ${formatInteger(count)} markets of ${formatInteger(bytes / count)} bytes`,
  )
  const again = importFile(file, data)
  printResult('import again, unchanged', `${rate(again)}, ${(first.seconds / again.seconds).toFixed(1)} × as fast`)
  printResult(
    'memory of the import',
    `${formatInteger(first.residentMiB)} MiB for a file of ${formatInteger(bytes / 1e6)} MB`,
  )
  rmSync(file)
}

interface Load {
  done: number
  failed: number
  seconds: number
}

async function compare(
  name: string,
  port: number,
  paths: readonly string[],
  headers: string,
  status = '200',
): Promise<void> {
  const sample = Object.fromEntries(
    headers
      .split('\r\n')
      .filter(Boolean)
      .map((line) => line.split(': ') as [string, string]),
  )
  const body = await bodyOf(port, paths[0] ?? '', sample)
  writeFileSync(join(dir, 'body'), body)
  const requests = join(dir, 'requests.json')
  writeFileSync(requests, JSON.stringify(paths.map((path) => `GET ${path} HTTP/1.1\r\nhost: x\r\n${headers}\r\n`)))
  const bare = await firstLine<{ port: number }>(launch([join(benchDir, 'bare.ts'), join(dir, 'body')]))
  const load = (at: number, forSeconds: number) =>
    firstLine<Load>(launch([join(benchDir, 'load.ts'), String(at), requests, String(forSeconds), String(connections)]))
  const [ours, theirs]: [number[], number[]] = [[], []]
  await load(port, 1)
  await load(bare.port, 1)
  for (let round = 0; round < rounds; round++) {
    const result = await load(port, seconds)
    if (status === '200' && result.failed > 0)
      throw new Error(`${name}: ${result.failed} of ${result.done} responses failed`)
    ours.push(result.done / result.seconds)
    const plain = await load(bare.port, seconds)
    theirs.push(plain.done / plain.seconds)
  }
  const ratio = median(ours) / median(theirs)
  printResult(
    name,
    `ratio ${ratio.toFixed(2)} (goal 0.80)  tetrad ${formatInteger(median(ours))}/s  bare ${formatInteger(median(theirs))}/s  body ${body.length} bytes`,
  )
}

/** The body as on the wire; fetch would decompress it. */
async function bodyOf(port: number, path: string, headers: Record<string, string>): Promise<Buffer> {
  const { request } = await import('node:http')
  return new Promise((resolve, reject) => {
    request({ port, host: '127.0.0.1', path, headers }, (response) => {
      const parts: Buffer[] = []
      response.on('data', (part: Buffer) => parts.push(part)).on('end', () => resolve(Buffer.concat(parts)))
    })
      .on('error', reject)
      .end()
  })
}

async function serving(data: string): Promise<void> {
  const config = join(dir, 'tetrad.json')
  writeFileSync(config, JSON.stringify({ server: { anonymousPerSecond: 0 }, log: { level: 'warn' } }))
  const startMs = performance.now()
  const server = launch([
    join(benchDir, '../cli/tetrad.js'),
    'serve',
    '--config',
    config,
    '--data',
    data,
    '--port',
    '0',
    '--json',
  ])
  const { url } = await firstLine<{ url: string }>(server)
  printResult(
    'cold start',
    `${formatInteger(performance.now() - startMs)} ms to listening with ${formatInteger(count)} markets`,
  )
  const port = Number(new URL(url).port)
  const slugs = Array.from({ length: 1000 }, (_, at) => manySlug(Math.floor((at * count) / 1000)))
  const tookMs: number[] = []
  for (const slug of slugs.slice(0, 200)) {
    const sentMs = performance.now()
    await (await fetch(`${url}/markets/slug/${slug}`)).arrayBuffer()
    tookMs.push(performance.now() - sentMs)
  }
  printResult('first request', `${median(tookMs).toFixed(2)} ms (median of 200 markets that were not cached)`)
  const paths = slugs.map((slug) => `/markets/slug/${slug}`)
  await compare('4.8, one market', port, paths.slice(0, 1), '')
  await compare('4.8, 1000 markets', port, paths, '')
  await compare('4.8, gzip', port, paths.slice(0, 1), 'accept-encoding: gzip\r\n')
  const { headers } = await fetch(`${url}${paths[0]}`, { headers: { 'accept-encoding': 'identity' } })
  await compare('4.8, not modified', port, paths.slice(0, 1), `if-none-match: ${headers.get('etag')}\r\n`, '304')
  server.kill('SIGTERM')
}

async function changing(data: string): Promise<void> {
  const state = await openIngest(data)
  const wide = [...manyMarkets({ seed: 'wide', count: 300, perEvent: 300 })].map((record, at) => ({
    ...{ ...record, id: String(9_000_000 + at), slug: `wide-${at}` },
    events: (record.events as object[]).map((event) => ({ ...event, id: '999999', series: [] })),
  }))
  const renames = new Renames()
  await state.write((tx) =>
    putMarkets(
      tx,
      wide.flatMap((record) => decompose(record, 'market', renames)),
      Date.now(),
    ),
  )
  const tookMs: number[] = []
  for (let round = 0; round < 10; round++) {
    const startMs = performance.now()
    await state.write((tx) =>
      putMarkets(tx, [{ kind: 'event', id: '999999', fields: { volume: round }, partial: true }], Date.now()),
    )
    tookMs.push(performance.now() - startMs)
  }
  printResult('an event of 300 markets', `${median(tookMs).toFixed(1)} ms to change`)
  await measureVersions(state)
  await searches(state)
  await state.close()
}

/** A word of all markets, of one market, of none, and several words that no market has together. */
async function searches(state: Awaited<ReturnType<typeof openIngest>>): Promise<void> {
  const queries = { common: 'market', rare: manySlug(count >> 1), absent: 'nowhere', disjoint: 'market number wide' }
  const lists = new ListViews()
  const results: string[] = []
  const context = { ingest: state, settings: { markets: { feeds: [] } } }
  for (const [name, q] of Object.entries(queries)) {
    const tookMs: number[] = []
    for (let round = 0; round < 20; round++) {
      const startMs = performance.now()
      await foundMarketsQuery.run(
        context,
        await findBestMatches({ reader: state, view: await lists.read(state) }, searchWords(q), 20),
      )
      tookMs.push(performance.now() - startMs)
    }
    results.push(`${name} ${median(tookMs).toFixed(1)} ms`)
  }
  printResult('search', results.join(', '))
}

/** A price tick changes about fifteen of two hundred fields. */
async function measureVersions(state: Awaited<ReturnType<typeof openIngest>>): Promise<void> {
  const sizes = () =>
    state.get<{ n: number; bytes: number }>(
      "select count(*) as n, coalesce(sum(length(diff) + length(kind) + length(id) + length(change_type) + 16), 0) as bytes from market_versions where change_type = 'changed'",
    )
  const before = await sizes()
  const tick = 400
  const startMs = performance.now()
  for (let at = 0; at < tick; at++) {
    const bid = (at % 90) / 100 + 0.01
    const fields = {
      ...{
        bestBid: bid,
        bestAsk: bid + 0.02,
        lastTradePrice: bid + 0.01,
        volumeNum: 1000 + at,
        volume: String(1000 + at),
      },
      ...{ outcomePrices: JSON.stringify([String(bid), String(1 - bid)]), volume24hr: at, volumeClob: 900 + at },
      ...{ updatedAt: new Date(Date.now() + at).toISOString(), oneHourPriceChange: bid / 10, competitive: 1 - bid / 2 },
    }
    await state.write((tx) => putMarkets(tx, [{ kind: 'market', id: '9000000', fields, partial: true }], Date.now()))
  }
  const tickMs = (performance.now() - startMs) / tick
  const after = await sizes()
  const perVersion = ((after?.bytes ?? 0) - (before?.bytes ?? 0)) / ((after?.n ?? 1) - (before?.n ?? 0))
  const [document] = await state.all<{ n: number }>(
    "select length(fields) as n from market_records where kind = 'market' and id = '9000000'",
  )
  printResult(
    'a version',
    `${formatInteger(perVersion)} bytes, 1/${formatInteger((document?.n ?? 0) / perVersion)} of its record; ${tickMs.toFixed(1)} ms per price tick, stored durably`,
  )
  const pastMs = performance.now()
  const asOf = Date.now() - 1000
  for (let at = 0; at < 20; at++) await marketAsOf(state, 'wide-0', asOf)
  printResult(
    'asOf',
    `${((performance.now() - pastMs) / 20).toFixed(1)} ms through ${tick} versions and an event of 300 markets`,
  )
}

try {
  const data = join(dir, 'data')
  await imports(data)
  await serving(data)
  await changing(data)
} finally {
  for (const child of children) child.kill('SIGKILL')
  rmSync(dir, { recursive: true, force: true })
}
