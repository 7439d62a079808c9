// Open markets that change with every pass, read over HTTP from two feeds that share events (changing-feed.ts): CPU time per
// record, growth and bytes written a day, on SQLite and PostgreSQL; and 4.8, each market for the first time and gzipped,
// beside the feeds. Growth is measured with fewer markets, because changes are merged after an hour. A day is 1 440 passes. Written are the bytes of write calls (SQLite), or WAL and pages (PostgreSQL).
// BENCH_MARKETS=3000 BENCH_ROUNDS=20 is a small run: with fewer passes, checkpoints make the bytes written a matter of chance.
import type { ChildProcess } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { ticksPerPack } from '#markets/ticks/merge-ticks.ts'
import { noPostgres, type PostgresServer, startPostgres } from '#test/postgres.ts'
import { manySlug } from './many-markets.ts'
import { firstLine, launch } from './measure.ts'

const count = Number(process.env.BENCH_MARKETS ?? 30_000)
const passes = Number(process.env.BENCH_ROUNDS ?? 3)
const seconds = Number(process.env.BENCH_SECONDS ?? 10)
const passesPerDay = 1440
/** Two merges of each block of fast values. */
const growthPasses = 2 * ticksPerPack + 8
const growthCount = 300
/** Requests for 4.8 per second, each for another market. */
const rate = 100

const dir = mkdtempSync(join(tmpdir(), 'tetrad-bench-markets-'))
const children: ChildProcess[] = []
const start = (file: string, ...args: string[]): ChildProcess => {
  const child = launch(file, ...args)
  children.push(child)
  return child
}

interface Used {
  readonly records: number
  readonly cpuMs: number
  readonly written: number
  readonly bytes: number
  readonly rssMiB: number
}

const printRow = (name: string, value: string, goal: string) =>
  console.log(`${name.padEnd(44)} ${value.padEnd(24)} ${goal}`)
const gigabytes = (bytes: number) => `${(bytes / 1e9).toFixed(1)} GB`

async function startReader(settings: object, location: string) {
  const child = start('markets-reader.ts', JSON.stringify(settings), location, 'read')
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream })[Symbol.asyncIterator]()
  const next = async (): Promise<Used> => JSON.parse(String((await lines.next()).value))
  await next()
  return {
    pass: () => {
      child.stdin?.write('pass\n')
      return next()
    },
    stop: () => child.stdin?.end(),
  }
}

type Reader = Awaited<ReturnType<typeof startReader>>

const noDatabase = async (): Promise<Used> => ({ records: 0, cpuMs: 0, written: 0, bytes: 0, rssMiB: 0 })

/** Some passes of all readers, side by side. What each record used, and what all of them used in a day. */
async function measure(readers: readonly Reader[], database: () => Promise<Used> = noDatabase, passCount = passes) {
  const read = async () => [...(await Promise.all(readers.map(({ pass }) => pass()))), await database()]
  const sum = (all: readonly Used[], name: keyof Used) => all.reduce((total, used) => total + used[name], 0)
  const before = await read()
  const startMs = performance.now()
  let after = before
  for (let pass = 0; pass < passCount; pass++) after = await read()
  const delta = (name: keyof Used) => sum(after, name) - sum(before, name)
  return {
    cpuMs: delta('cpuMs') / delta('records'),
    perSecond: (delta('records') * 1000) / (performance.now() - startMs),
    writtenPerDay: (delta('written') / passCount) * passesPerDay,
    growthPerDay: (delta('bytes') / passCount) * passesPerDay,
    rssMiB: Math.max(...after.map(({ rssMiB }) => rssMiB)),
  }
}

const feedSettings = (url: string, feeds: readonly number[], everyMs = 60_000) => ({
  markets: {
    feeds: feeds.map((feed) => ({
      ...{ id: `feed-${feed}`, url: `${url}/${feed}`, perSecond: 1000, everyMs, fullEveryMs: 1000 },
      paging: { kind: 'page', size: 500 },
    })),
  },
})

const setMode = (url: string, mode: string) => fetch(`${url}/${mode}`, { method: 'POST' })

async function onSqlite(url: string): Promise<void> {
  const reader = await startReader(feedSettings(url, [0, 1]), join(dir, 'data'))
  await reader.pass()
  const figures = new Map<string, Awaited<ReturnType<typeof measure>>>()
  for (const mode of ['prices', 'all', 'slow']) {
    await setMode(url, mode)
    figures.set(mode, await measure([reader]))
  }
  reader.stop()
  const of = (mode: string) => figures.get(mode) as Awaited<ReturnType<typeof measure>>
  printRow('CPU per record, prices changed', `${of('prices').cpuMs.toFixed(2)} ms`, '≤ 0.3 ms')
  printRow('CPU per record, all fast fields changed', `${of('all').cpuMs.toFixed(2)} ms`, '≤ 0.3 ms')
  printRow('CPU per record, slow fields changed', `${of('slow').cpuMs.toFixed(2)} ms`, '≤ 0.8 ms')
  const written = ['prices', 'all'].map((mode) => gigabytes((of(mode).writtenPerDay * 30_000) / count))
  printRow('written a day, prices / all fast fields', written.join(' / '), '≤ 10 / ≤ 25 GB')
  printRow('memory of the reader', `${of('slow').rssMiB} MiB`, '')
}

/** As long as it takes to merge changes twice. */
async function growthOnSqlite(): Promise<void> {
  const { url } = await firstLine<{ url: string }>(start('changing-feed.ts', String(growthCount)))
  const reader = await startReader(feedSettings(url, [0, 1]), join(dir, 'growth'))
  await reader.pass()
  const growth: string[] = []
  for (const mode of ['prices', 'all']) {
    await setMode(url, mode)
    const { growthPerDay } = await measure([reader], noDatabase, growthPasses)
    growth.push(gigabytes((growthPerDay * 30_000) / growthCount))
  }
  reader.stop()
  printRow('growth a day, prices / all fast fields', growth.join(' / '), '≤ 1 / ≤ 3.5 GB')
}

/** Two servers, one feed each. */
async function onPostgres(url: string): Promise<void> {
  if (noPostgres) return console.log(`skipped: ${noPostgres}`)
  await using server = await startPostgres()
  const location = await server.schema()
  await setMode(url, 'all')
  const readers = [await startReader(feedSettings(url, [0]), location)]
  readers.push(await startReader(feedSettings(url, [1]), location))
  for (const reader of readers) await reader.pass()
  const { cpuMs, perSecond, writtenPerDay, growthPerDay } = await measure(readers, () => databaseUse(server))
  for (const reader of readers) reader.stop()
  const scale = 30_000 / count
  printRow('PostgreSQL: CPU per record, node and database', `${cpuMs.toFixed(2)} ms`, '≤ 0.6 ms')
  printRow('PostgreSQL: two servers, two feeds', `${Math.round(perSecond)} records/s`, '≥ 1500/s')
  printRow(
    'PostgreSQL without vacuum: growth / written',
    `${gigabytes(growthPerDay * scale)} / ${gigabytes(writtenPerDay * scale)}`,
    '',
  )
}

/** CPU time of all its processes, also of those that have ended; WAL, and pages that were written to tables. */
async function databaseUse(server: PostgresServer): Promise<Used> {
  await server.sql('checkpoint')
  const written = await server.sql<{ bytes: string }>(
    'select (wal_bytes + 8192 * (select buffers_checkpoint + buffers_clean + buffers_backend from pg_stat_bgwriter))::bigint as bytes from pg_stat_wal',
  )
  const size = await server.sql<{ bytes: string }>('select pg_database_size(current_database())::bigint as bytes')
  const postmaster = readFileSync(join(server.dir, 'data', 'postmaster.pid'), 'utf8').split('\n')[0]
  let ticks = 0
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    const fields = readStat(pid)
    const ended = Number(fields?.[13]) + Number(fields?.[14])
    if (pid === postmaster) ticks += ended
    if (fields && (pid === postmaster || fields[1] === postmaster)) ticks += Number(fields[11]) + Number(fields[12])
  }
  return { records: 0, cpuMs: ticks * 10, written: Number(written?.bytes), bytes: Number(size?.bytes), rssMiB: 0 }
}

/** The fields after the name of the program. A process may have ended. */
function readStat(pid: string): string[] | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  } catch {
    return undefined
  }
}

/** 4.8 of a server without and with feeds that it reads all the time. */
async function besideFeed(url: string): Promise<void> {
  const requests = join(dir, 'requests.json')
  const request = (at: number) =>
    `GET /markets/slug/${manySlug((at * 7919) % count)} HTTP/1.1\r\nhost: x\r\naccept-encoding: gzip\r\n\r\n`
  writeFileSync(requests, JSON.stringify(Array.from({ length: count }, (_, at) => request(at))))
  await setMode(url, 'all')
  const results: { p50Ms: number; p99Ms: number; rssMiB: number }[] = []
  for (const enabled of [false, true]) {
    const settings = {
      ...feedSettings(url, [0, 1], 1000),
      ingest: { enabled },
      server: { port: 0, anonymousPerSecond: 0 },
    }
    const server = start('markets-reader.ts', JSON.stringify(settings), join(dir, 'data'), 'serve')
    const lines = createInterface({ input: server.stdout as NodeJS.ReadableStream })[Symbol.asyncIterator]()
    const next = async () => JSON.parse(String((await lines.next()).value))
    const { port } = await next()
    const load = start('load.ts', String(port), requests, String(seconds), '8', String(rate))
    const { failed, ...latency } = await firstLine<{ failed: number; p50Ms: number; p99Ms: number }>(load)
    if (failed > 0) console.log(`${failed} requests failed`)
    server.stdin?.write('memory\n')
    results.push({ ...latency, ...(await next()) })
    const ended = new Promise((resolve) => server.once('exit', resolve))
    server.kill('SIGTERM')
    await ended
  }
  const [alone, beside] = results
  if (!alone || !beside) return
  const text = ({ p50Ms, p99Ms }: typeof alone) => `${p50Ms.toFixed(1)}, ${p99Ms.toFixed(1)} ms`
  printRow('4.8 alone, p50 and p99', text(alone), '')
  printRow('4.8 beside the feeds', `${text(beside)}: ${(beside.p99Ms / alone.p99Ms).toFixed(1)} ×`, '≤ 2 ×')
  printRow('memory of the server', `${beside.rssMiB} MiB`, '≤ 450 MiB')
}

try {
  const { url, recordBytes } = await firstLine<{ url: string; recordBytes: number }>(
    start('changing-feed.ts', String(count)),
  )
  console.log(`${count} records of ${Math.round(recordBytes)} bytes, ${passes} passes each; per day for 30 000 records`)
  await onSqlite(url)
  await growthOnSqlite()
  await onPostgres(url)
  await besideFeed(url)
} finally {
  for (const child of children) child.kill('SIGKILL')
  rmSync(dir, { recursive: true, force: true })
}
