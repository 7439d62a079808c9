// The same rows and the same questions on DuckDB, ClickHouse and PostgreSQL side by side, as ratios to DuckDB: days of a network's
// validators as bench/ratings.ts makes them, questions as the endpoints put them to the engine, everything warm. Beside it what a
// row takes on disk and how fast rows come in. PostgreSQL only adds up, which is less than the others are asked for.
// BENCH_VALIDATORS, BENCH_DAYS and BENCH_ROUNDS change the size.
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ChainTime, chainDays } from '#core/chain-time.ts'
import { complete } from '#core/check.ts'
import { SettingsSchema } from '#core/settings.ts'
import { measures } from '#groups/validators/measures.ts'
import { orderDuties } from '#groups/validators/order.ts'
import { cover } from '#store/coverage.ts'
import { openClickhouse } from '#store/engines/clickhouse.ts'
import { openDuckdb } from '#store/engines/duckdb.ts'
import type { Columns, Facts } from '#store/facts.ts'
import { factsMigrations } from '#store/migrations.ts'
import { noClickhouse, startClickhouse } from '#test/clickhouse.ts'
import { openPostgres } from './ratings-postgres.ts'
import { askEngine, daySql, median, questionsOf, timed } from './ratings-rows.ts'

const validators = Number(process.env.BENCH_VALIDATORS ?? 20_000)
const days = Number(process.env.BENCH_DAYS ?? 365)
const rounds = Number(process.env.BENCH_ROUNDS ?? 3)
/** Five days of them. */
const hours = Math.min(120, days)
const epochsPerHour = 9
/** It adds up the parts of each row first, which takes room. */
const questionBytes = 6_000_000_000
const names = ['network', 'validator', 'day', ...measures]
const time: ChainTime = complete(SettingsSchema, {}).value.validators.networks.mainnet

interface Engine {
  readonly name: string
  readonly facts: Facts
  /** A row of the table; `before`: what was there before its first. */
  rowBytes(table: string, rows: number, before: number): Promise<number>
  /** On disk in all. */
  size(): Promise<number>
  inMs: number
  tidyMs: number
}

async function dayOf(maker: Facts, day: number, epochs?: number): Promise<Columns> {
  const rows = await maker.query(`select * from (${daySql(validators, day, epochs)}) as made (${names.join()})`)
  return Object.fromEntries(names.map((name) => [name, rows.map((row) => row[name])])) as Columns
}

/** Hours are many more than days and smaller; how they lie is measured by some days of them. */
async function fillHours(engines: readonly Engine[]): Promise<void> {
  const [maker] = engines
  const before = await Promise.all(engines.map(({ size }) => size()))
  const tookMs = engines.map(() => 0)
  for (let hour = 0; hour < hours; hour++) {
    const { day: _, ...columns } = await dayOf((maker as Engine).facts, hour, epochsPerHour)
    const day = Math.floor(hour / 24)
    const same = (value: number) => new Int32Array(validators).fill(value)
    const own = { ...columns, hour: same(hour), day: same(day), utc_day: same(day) }
    for (const [at, { facts }] of engines.entries())
      tookMs[at] = (tookMs[at] ?? 0) + (await timed(() => facts.write((tx) => tx.append('duty_hours', own))))
  }
  for (const [at, { name, facts, rowBytes }] of engines.entries()) {
    await facts.tidy(new AbortController().signal)
    const each = await rowBytes('duty_hours', validators * hours, before[at] ?? 0)
    const rate = Math.round((validators * hours * 1000) / (tookMs[at] ?? 1)).toLocaleString('en')
    console.log(`${name}: ${each.toFixed(1)} bytes an hour's row, ${rate} rows/s in`)
  }
}

type Postgres = Awaited<ReturnType<typeof openPostgres>>

async function fill(engines: readonly Engine[], postgres: Postgres): Promise<number> {
  const [maker] = engines
  let copyMs = 0
  for (let day = 0; day < days; day++) {
    const columns = await dayOf((maker as Engine).facts, day)
    const epochs = chainDays(time).epochsOf(day as never)
    for (const engine of engines) {
      engine.inMs += await timed(() =>
        engine.facts.write(async (tx) => {
          await tx.append('duty_days', columns)
          await cover(tx, 'duties/mainnet', epochs.from, epochs.until)
        }),
      )
      engine.tidyMs += await timed(() =>
        orderDuties(engine.facts, 'mainnet', time, epochs, new AbortController().signal),
      )
    }
    copyMs += await timed(async () => postgres?.take((maker as Engine).facts, day))
    if ((day + 1) % 73 === 0) console.log(`  ${day + 1} days`)
  }
  return copyMs + (await timed(async () => postgres?.ready()))
}

async function compare(engines: readonly Engine[], postgres: Postgres): Promise<void> {
  for (const question of questionsOf(validators, days, Math.min(10_000, validators / 2))) {
    const took = engines.map(() => [] as number[])
    const theirs: number[] = []
    // The first time warms up.
    for (let round = 0; round <= rounds; round++) {
      for (const [at, { facts }] of engines.entries()) {
        const ms = await timed(() => askEngine(facts, time, question))
        if (round > 0) took[at]?.push(ms)
      }
      if (postgres && round > 0) theirs.push(await postgres.ask(question))
    }
    const base = median(took[0] ?? [])
    const all = [...engines.map(({ name }, at) => [name, median(took[at] ?? [])] as const)]
    if (postgres) all.push(['PostgreSQL', median(theirs)])
    const words = all.map(([name, ms]) => `${name} ${ms.toFixed(0)} ms (${(ms / base).toFixed(2)} ×)`)
    console.log(`${question.name}: ${words.join(', ')}`)
  }
}

const perSecond = (ms: number) => Math.round((validators * days * 1000) / ms).toLocaleString('en')
const dir = mkdtempSync(join(tmpdir(), 'tetrad-engines-'))
await using open = new AsyncDisposableStack()
open.defer(() => rmSync(dir, { recursive: true, force: true }))
const file = join(dir, 'facts.duckdb')
const duckdb = open.adopt(await openDuckdb(file, factsMigrations), (facts) => facts.close())
const size = async () => {
  await duckdb.query('checkpoint')
  return statSync(file).size
}
const engines: Engine[] = [
  {
    ...{ name: 'DuckDB', facts: duckdb, inMs: 0, tidyMs: 0, size },
    rowBytes: async (_, rows, before) => ((await size()) - before) / rows,
  },
]
if (noClickhouse) console.log(`left out: ${noClickhouse}`)
else {
  const server = open.use(await startClickhouse(questionBytes))
  const url = await server.database()
  const facts = open.adopt(await openClickhouse(url, factsMigrations), (own) => own.close())
  // What was added up is swept an hour later; until then it lies beside the sum.
  const rowBytes = async (table: string) => {
    const own = `active and table = '${table}'`
    return Number(await server.sql(`select sum(bytes_on_disk) / sum(rows) from system.parts where ${own}`))
  }
  engines.push({ name: 'ClickHouse', facts, inMs: 0, tidyMs: 0, rowBytes, size: async () => 0 })
}
const postgres = await openPostgres()
if (postgres) open.use(postgres)
else console.log('PostgreSQL is not installed here')
const copyMs = await fill(engines, postgres)
for (const { name, inMs, tidyMs, rowBytes } of engines) {
  const each = (await rowBytes('duty_days', validators * days, 0)).toFixed(1)
  console.log(
    `${name}: ${each} bytes a row, ${perSecond(inMs)} rows/s in, ${perSecond(inMs + tidyMs)} with laying them out`,
  )
}
if (postgres) console.log(`PostgreSQL: ${perSecond(copyMs)} rows/s in, with its index`)
await compare(engines, postgres)
await fillHours(engines)
