// Promise: a pool of 10 000 validators gets its year in about a second, and an answer costs at most 1.3 times the bare query in
// the engine. 100 000 validators × 365 days in the real tables, written day by day and laid out as ingest does it. Each question is asked
// over HTTP of a real server in this process and put to the engine directly, in turns; figures are medians. Where PostgreSQL is
// installed, the same rows and questions go there as well. BENCH_VALIDATORS, BENCH_DAYS and BENCH_ROUNDS change the size.
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { aggregateFields } from '#api/wire/validators.ts'
import { type ChainTime, chainDays } from '#core/chain-time.ts'
import { complete } from '#core/check.ts'
import { SettingsSchema } from '#core/settings.ts'
import { type Fold, foldRecords } from '#groups/validators/fold.ts'
import { aggregateSql, figures } from '#groups/validators/method.ts'
import { orderDuties } from '#groups/validators/order.ts'
import { putValidators } from '#groups/validators/registry.ts'
import { windowsOver } from '#groups/validators/windows.ts'
import { silentLog } from '#io/log.ts'
import type { Desk } from '#serve/answer.ts'
import { start } from '#server/main.ts'
import { chance } from '#sim/chance.ts'
import { cover } from '#store/coverage.ts'
import { createKey } from '#store/keys.ts'
import { openPostgres } from './ratings-postgres.ts'

const validators = Number(process.env.BENCH_VALIDATORS ?? 100_000)
const days = Number(process.env.BENCH_DAYS ?? 365)
const rounds = Number(process.env.BENCH_ROUNDS ?? 5)
const namedMax = 10_000

/** A day of everyone: mostly good, with the lapses and the luck of a real network. */
const daySql = (day: number): string => {
  const draw = (salt: number) => `(hash(i, ${day}, ${salt}) % 1000)::integer`
  return `insert into duty_days
    select 'mainnet', validator, ${day}, 225, included + c % 9, included, included + c % 14, included, included - wrong, included - b % 7,
      late, 0, duties, duties - missed, 0, sync, 0, 0, 0,
      included * 9234 - b % 7 * 2394 + a * 3, sync * 410, (duties - missed) * 81000000 + duties * a * 1013, late * -2394, 0, wrong * -4446, 0,
      (225 - included) * -6840, 0, (225 - included) * 9234, 0, missed * 80000000, 0, (duties - missed) * 21000000 + duties * a * 331,
      (duties - missed) * 35000000 + duties * a * 771, 0, included * 9234 - b % 7 * 2394 + a * 3 + sync * 410
    from (select *, case when duties > 0 and c < 10 then 1 else 0 end as missed from (
      select i::integer as validator, a, b, c, 225 - case when a < 900 then 0 when a < 990 then a % 4 else a % 200 end as included,
        case when b < 50 then 1 else 0 end as wrong, case when b < 30 then 1 else 0 end as late,
        case when c < 70 and d < 280 then 1 else 0 end as duties, case when d < 2 then 5400 + c // 10 else 0 end as sync
      from (select i, ${draw(1)} as a, ${draw(2)} as b, ${draw(3)} as c, ${draw(4)} as d from range(${validators}) as t(i))))
    order by validator`
}

type Postgres = Awaited<ReturnType<typeof openPostgres>>

let layingOutUs = 0

async function fill({ facts, state, settings }: Desk, postgres: Postgres): Promise<void> {
  const time: ChainTime = settings.validators.networks.mainnet
  for (let day = 0; day < days; day++) {
    const epochs = chainDays(time).epochsOf(day as never)
    await facts.write(async (tx) => {
      await tx.run(daySql(day))
      await cover(tx, 'duties/mainnet', epochs.from, epochs.until)
    })
    await postgres?.take(facts, day)
    const cpu = process.cpuUsage()
    await orderDuties(facts, 'mainnet', time, epochs, new AbortController().signal)
    const used = process.cpuUsage(cpu)
    layingOutUs += used.user + used.system
    if ((day + 1) % 73 === 0) console.log(`  ${day + 1} days`)
  }
  await facts.query('checkpoint')
  console.log(`laying out took ${(layingOutUs / validators / days).toFixed(1)} µs of processor time per row`)
  await postgres?.ready()
  for (let from = 0; from < validators; from += 10_000) {
    const part = Array.from({ length: Math.min(10_000, validators - from) }, (_, at) => from + at)
    await putValidators(state, 'mainnet', part.map(entryOf))
  }
}

const entryOf = (index: number) => ({
  index,
  pubkey: `0x${index.toString(16).padStart(96, '0')}`,
  activationEligibilityEpoch: 0,
  activationEpoch: 0,
  exitEpoch: null,
  withdrawableEpoch: null,
  withdrawalAddress: null,
})

interface Question {
  readonly name: string
  readonly who: readonly number[]
  readonly from: number
  readonly until: number
}

const draws = chance('ratings')
const some = (count: number) =>
  [...new Set(Array.from({ length: count * 3 }, () => draws.whole(0, validators)))].slice(0, count)
const many = Math.min(namedMax, validators / 10)
/** A pool makes its deposits in batches, so its validators stand in runs. */
const runs = [
  ...new Set(some(many / 100).flatMap((first) => Array.from({ length: 100 }, (_, at) => (first + at) % validators))),
]
const all = Array.from({ length: validators }, (_, index) => index)
const questions: readonly Question[] = [
  { name: `one × ${days} days`, who: some(1), from: 0, until: days },
  { name: `100 random × ${days} days`, who: some(100), from: 0, until: days },
  { name: `${many} in runs × ${days} days`, who: runs, from: 0, until: days },
  { name: `${many} random × ${days} days`, who: some(many), from: 0, until: days },
  { name: 'all × one day long ago', who: all, from: days >> 2, until: (days >> 2) + 1 },
  { name: 'all × the last day', who: all, from: days - 1, until: days },
]

const dir = mkdtempSync(join(tmpdir(), 'tetrad-ratings-'))
const { value: settings } = complete(SettingsSchema, { server: { port: 0, answerTimeoutMs: 600_000 } })
const server = await start({ settings, dataDir: dir, log: silentLog })
try {
  const startMs = performance.now()
  await using postgres = await openPostgres()
  if (!postgres) console.log('PostgreSQL is not installed here')
  await fill(server.desk, postgres)
  const { size } = statSync(join(dir, 'facts.duckdb'))
  console.log(
    `${validators} × ${days} rows made, laid out and copied in ${((performance.now() - startMs) / 1000).toFixed(0)} s`,
  )
  console.log(`${(size / validators / days).toFixed(1)} bytes per validator-day (the row of a chain day, file and all)`)
  const { key } = await createKey(
    server.desk.state,
    { name: 'bench', plan: 'enterprise' },
    server.desk.clock,
    server.desk.random,
  )
  for (const question of questions) await compare(question, key, postgres)
} finally {
  await server.close()
  rmSync(dir, { recursive: true, force: true })
}

async function compare(question: Question, key: string, postgres: Postgres): Promise<void> {
  const [ours, bare, theirs]: [number[], number[], number[]] = [[], [], []]
  await askServer(question, key)
  for (let round = 0; round < rounds; round++) {
    ours.push(await timed(() => askServer(question, key)))
    bare.push(await timed(() => askEngine(question)))
  }
  // Minutes long where the rows lie far apart, and they always do over there.
  if (postgres && question.who.length <= namedMax)
    for (let round = 0; round < 3; round++) theirs.push(await postgres.ask(question))
  const [mine, engine] = [median(ours), median(bare)]
  const there =
    theirs.length > 0
      ? `, PostgreSQL ${median(theirs).toFixed(0)} ms = ${(median(theirs) / mine).toFixed(1)} × ours`
      : ''
  console.log(
    `${question.name}: ${mine.toFixed(0)} ms, bare ${engine.toFixed(0)} ms: ${(mine / engine).toFixed(2)} × (goal ≤ 1.3)${there}`,
  )
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now()
  await work()
  return performance.now() - startMs
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0
}

/** One validator is 4.6, many are 4.5 with one record a day; more than may be named at once are several calls. */
async function askServer({ who, from, until }: Question, key: string): Promise<void> {
  if (who.length === 1) {
    return call(
      `/v1/eth/validators/${who[0]}/effectiveness?limit=${until - from}&fromDay=${from}&toDay=${until - 1}`,
      key,
    )
  }
  for (let at = 0; at < who.length; at += namedMax) {
    const named = who.slice(at, at + namedMax).join()
    const span = `from=${until - 1}&to=${from}&size=${until - from}&groupBy=timeWindow`
    await call(`/v0/eth/validators/effectiveness?${span}&indices=${named}`, key)
  }
}

function call(path: string, key: string): Promise<void> {
  return new Promise((resolve, reject) => {
    get(`${server.url}${path}`, { headers: { authorization: `Bearer ${key}` } }, async (response) => {
      let bytes = 0
      for await (const chunk of response) bytes += (chunk as Buffer).length
      if (response.statusCode === 200 && bytes > 200) resolve()
      else reject(new Error(`${response.statusCode}, ${bytes} bytes`))
    }).on('error', reject)
  })
}

/** The same figures, one statement for each call. */
async function askEngine({ who, ...span }: Question): Promise<void> {
  for (let at = 0; at < who.length; at += namedMax) await askOnce(who.slice(at, at + namedMax), span)
}

async function askOnce(who: readonly number[], { from, until }: Pick<Question, 'from' | 'until'>): Promise<void> {
  const line = chainDays(server.desk.settings.validators.networks.mainnet)
  const span = { from, until }
  const fold: Fold = {
    network: 'mainnet',
    who,
    grain: 'day',
    days: span,
    windows: windowsOver(line, 'day', span),
    byValidator: false,
  }
  const measured = aggregateFields.filter((field) => field in aggregateSql) as (keyof typeof aggregateSql)[]
  const many = Object.fromEntries(measured.map((field) => [field, aggregateSql[field]]))
  const one = { ...figures, sumInclusionDelay: 'sum(inclusion_delay)' }
  const rows = await foldRecords(server.desk.facts, fold, who.length === 1 ? one : many, {
    by: 'record_key desc',
    limit: until - from,
  })
  if (rows.length !== until - from) throw new Error(`${rows.length} days`)
}
