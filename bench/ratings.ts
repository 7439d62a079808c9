// Promise: a pool of 10 000 validators gets its year in about a second, and an answer costs at most 1.3 times the bare query in
// the engine. 100 000 validators × 365 days in the real tables, written day by day and laid out as ingest does it. Each question is asked
// over HTTP of a real server in this process and put to the engine directly, in turns; figures are medians. Where PostgreSQL is
// installed, the same rows and questions go there as well: as rows come in, and for few validators also with nothing of either in
// memory, and put in order by hand. BENCH_VALIDATORS, BENCH_DAYS and BENCH_ROUNDS change the size.
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ChainTime, chainDays } from '#core/chain-time.ts'
import { complete } from '#core/check.ts'
import { SettingsSchema } from '#core/settings.ts'
import { orderDuties } from '#groups/validators/order.ts'
import { putValidators } from '#groups/validators/registry.ts'
import { silentLog } from '#io/log.ts'
import type { Desk } from '#serve/answer.ts'
import { start } from '#server/main.ts'
import { cover } from '#store/coverage.ts'
import { createKey } from '#store/keys.ts'
import { forget, openPostgres } from './ratings-postgres.ts'
import { askEngine, daySql, median, namedMax, type Question, questionsOf, timed } from './ratings-rows.ts'

const validators = Number(process.env.BENCH_VALIDATORS ?? 100_000)
const days = Number(process.env.BENCH_DAYS ?? 365)
const rounds = Number(process.env.BENCH_ROUNDS ?? 5)
const fewMax = 100
const postgresRounds = 3
const coldRounds = 3

type Postgres = Awaited<ReturnType<typeof openPostgres>>

let layingOutUs = 0

async function fill({ facts, state, settings }: Desk, postgres: Postgres): Promise<void> {
  const time: ChainTime = settings.validators.networks.mainnet
  for (let day = 0; day < days; day++) {
    const epochs = chainDays(time).epochsOf(day as never)
    await facts.write(async (tx) => {
      await tx.run(`insert into duty_days ${daySql(validators, day)}`)
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

const questions = questionsOf(validators, days)

const dir = mkdtempSync(join(tmpdir(), 'tetrad-ratings-'))
const { value: settings } = complete(SettingsSchema, { server: { port: 0, answerTimeoutMs: 600_000 } })
const rise = () => start({ settings, dataDir: dir, log: silentLog })
let server = await rise()
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
  const ours = new Map<Question, number>()
  for (const question of questions) ours.set(question, await compare(question, key, postgres))
  if (postgres) {
    for (const question of questions) if (question.who.length <= fewMax) await compareCold(question, key, postgres)
    postgres.cluster()
    for (const [question, mine] of ours)
      if (question.who.length <= fewMax) await compareClustered(question, mine, postgres)
  }
} finally {
  await server.close()
  rmSync(dir, { recursive: true, force: true })
}

/** Milliseconds over HTTP. */
async function compare(question: Question, key: string, postgres: Postgres): Promise<number> {
  const [ours, bare, theirs]: [number[], number[], number[]] = [[], [], []]
  await askServer(question, key)
  for (let round = 0; round < rounds; round++) {
    ours.push(await timed(() => askServer(question, key)))
    bare.push(
      await timed(() => askEngine(server.desk.facts, server.desk.settings.validators.networks.mainnet, question)),
    )
  }
  // Minutes long where the rows lie far apart, and they always do over there.
  if (postgres && question.who.length <= namedMax)
    for (let round = 0; round < postgresRounds; round++) theirs.push(await postgres.ask(question))
  const [mine, engine] = [median(ours), median(bare)]
  const there =
    theirs.length > 0
      ? `, PostgreSQL ${median(theirs).toFixed(0)} ms = ${(median(theirs) / mine).toFixed(1)} × ours`
      : ''
  console.log(
    `${question.name}: ${mine.toFixed(0)} ms, bare ${engine.toFixed(0)} ms: ${(mine / engine).toFixed(2)} × (goal ≤ 1.3)${there}`,
  )
  return mine
}

/** Each round begins with nothing in memory on either side; a server of ours that has just begun is also slower by itself. */
async function compareCold(question: Question, key: string, postgres: NonNullable<Postgres>): Promise<void> {
  const [ours, theirs]: [number[], number[]] = [[], []]
  for (let round = 0; round < coldRounds; round++) {
    await server.close()
    forget(['facts.duckdb', 'state.sqlite'].map((name) => join(dir, name)))
    server = await rise()
    ours.push(await timed(() => askServer(question, key)))
    await postgres.cool()
    theirs.push(await postgres.ask(question))
  }
  const [mine, there] = [median(ours), median(theirs)]
  console.log(
    `${question.name}, cold: ${mine.toFixed(0)} ms, PostgreSQL ${there.toFixed(0)} ms = ${(there / mine).toFixed(1)} × ours`,
  )
}

async function compareClustered(question: Question, mine: number, postgres: NonNullable<Postgres>): Promise<void> {
  const theirs: number[] = []
  for (let round = 0; round < postgresRounds; round++) theirs.push(await postgres.ask(question))
  console.log(
    `${question.name}: PostgreSQL put in order by hand ${median(theirs).toFixed(0)} ms = ${(median(theirs) / mine).toFixed(1)} × ours`,
  )
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
