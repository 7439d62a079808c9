// Disk space per row and insert rate on SQLite and PostgreSQL: fundings with random addresses, markets with their
// related records, and market versions. docs/scaling.md uses these figures.
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Funding, putFundings } from '#explorer/funding/fundings.ts'
import { decompose, Renames } from '#markets/records/decompose.ts'
import { putMarkets } from '#markets/write/put-markets.ts'
import { openIngest } from '#storage/open.ts'
import type { State } from '#storage/state.ts'
import { noPostgres, type PostgresServer, startPostgres } from '#test/postgres.ts'
import { manyMarkets } from './many-markets.ts'
import { batchesOf } from './measure.ts'

const fundingCount = Number(process.env.BENCH_FUNDINGS ?? 300_000)
const marketCount = Number(process.env.BENCH_MARKETS ?? 5000)
const batchSize = 5000
/** Price changes per market. */
const ticks = 10

const format = (value: number) => Math.round(value).toLocaleString('en')
const printResult = (engine: string, name: string, text: string) =>
  console.log(`${engine.padEnd(11)} ${name.padEnd(10)} ${text}`)

function* fundings(): Generator<Funding> {
  const hex = (bytes: number) => `0x${randomBytes(bytes).toString('hex')}`
  for (let at = 0; at < fundingCount; at++) {
    const position = {
      block: 1_000_000 + Math.floor(at / 20),
      txIndex: at % 20,
      position: 0,
      timeUnix: 1_600_000_000 + at,
    }
    yield { chain: '1', address: hex(20), ...position, funder: hex(20), tx: hex(32), valueWei: 10n ** 17n + BigInt(at) }
  }
}

interface Engine {
  readonly name: string
  readonly state: State
  /** Bytes of the matching tables and their indexes. */
  size(tables: string): Promise<number>
}

/** Prints bytes per row and rows per second. `work` returns the number of rows. */
async function measure(
  { name, size }: Engine,
  label: string,
  tables: string,
  work: () => Promise<number>,
): Promise<void> {
  const before = await size(tables)
  const startMs = performance.now()
  const rows = await work()
  const seconds = (performance.now() - startMs) / 1000
  const bytes = ((await size(tables)) - before) / rows
  printResult(name, label, `${format(bytes)} bytes, ${format(rows / seconds)}/s (${format(rows)})`)
}

async function insertFundings({ name, state }: Engine): Promise<number> {
  let done = 0
  let lastMs = performance.now()
  const step = Math.max(batchSize, fundingCount / 4)
  for (const batch of batchesOf(fundings(), batchSize)) {
    done += await state.write((tx) => putFundings(tx, batch))
    // The index outgrows the caches, so the last rows are the meaningful ones.
    if (done % step === 0) {
      printResult(
        name,
        '',
        `${format(done)} fundings, the last ${format(step)} at ${format((step * 1000) / (performance.now() - lastMs))}/s`,
      )
      lastMs = performance.now()
    }
  }
  return done
}

async function insertMarkets({ state }: Engine): Promise<number> {
  const renames = new Renames({})
  for (const batch of batchesOf(manyMarkets({ seed: 'sizes', count: marketCount, perEvent: 10 }), 200)) {
    const records = batch.flatMap((market) => decompose(market, 'market', renames))
    await state.write((tx) => putMarkets(tx, records, Date.now()))
  }
  return marketCount
}

/** Like a feed: a new price for each market. */
async function insertVersions({ state }: Engine): Promise<number> {
  const ids = Array.from({ length: marketCount }, (_, at) => String(1_000_000 + at))
  for (let tick = 1; tick <= ticks; tick++) {
    const bid = tick / 100
    const prices = { bestBid: bid, bestAsk: bid + 0.02, lastTradePrice: bid + 0.01 }
    const volumes = { volumeNum: 1000 + tick, volume: String(1000 + tick), volume24hr: tick, volumeClob: 900 + tick }
    for (const batch of batchesOf(ids, 200)) {
      const fields = { ...prices, ...volumes, updatedAt: new Date(Date.now() + tick).toISOString() }
      const records = batch.map((id) => ({ kind: 'market' as const, id, fields, partial: true }))
      await state.write((tx) => putMarkets(tx, records, Date.now()))
    }
  }
  return marketCount * ticks
}

async function measureAll(engine: Engine): Promise<void> {
  await measure(engine, 'funding', 'fundings', () => insertFundings(engine))
  await measure(engine, 'market', 'market%', () => insertMarkets(engine))
  await measure(engine, 'version', 'market_versions', () => insertVersions(engine))
  await engine.state.close()
}

async function postgresEngine(server: PostgresServer): Promise<Engine> {
  const size = async (tables: string) => {
    const of = `from pg_class where relkind = 'r' and relname like '${tables}'`
    const row = await server.sql<{ n: string }>(
      `select coalesce(sum(pg_total_relation_size(oid)), 0)::bigint as n ${of}`,
    )
    return Number(row?.n)
  }
  return { name: 'PostgreSQL', state: await openIngest('', { state: await server.schema() }), size }
}

const dir = mkdtempSync(join(tmpdir(), 'tetrad-sizes-'))
try {
  const state = await openIngest(dir)
  // The file contains all tables, but only the measured ones grow.
  const pages = 'select page_count * page_size as n from pragma_page_count(), pragma_page_size()'
  await measureAll({ name: 'SQLite', state, size: async () => (await state.get<{ n: number }>(pages))?.n ?? 0 })
  if (noPostgres) console.log(`skipped: ${noPostgres}`)
  else {
    await using server = await startPostgres()
    await measureAll(await postgresEngine(server))
  }
} finally {
  rmSync(dir, { recursive: true, force: true })
}
