// Promise: ratings are read by validator, five times as fast as from a PostgreSQL table with a row per validator and day, three times as fast
// where our chunks are in PostgreSQL. Half days of all validators are committed in the order in which they arrive and merged as ingest does
// it, up to day 63 of a long block, which is the slowest moment to ask. The same rows go into a PostgreSQL beside it. Figures are medians.
// BENCH_VALIDATORS, BENCH_DAYS and BENCH_ROUNDS change the size; BENCH_POSTGRES=0 leaves PostgreSQL out. With BENCH_DIR, the folder with
// the data stays, and the next run of the same size (without PostgreSQL) uses it.
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ChainTime } from '#core/chain-time.ts'
import { complete } from '#core/schema-check.ts'
import { silentLog } from '#runtime/log.ts'
import { systemRandom } from '#runtime/random.ts'
import { SettingsSchema } from '#runtime/settings.ts'
import { startServer } from '#server/app.ts'
import type { Duties } from '#storage/duties.ts'
import { createKey } from '#storage/keys.ts'
import { identifySource, moveState } from '#storage/move.ts'
import { openDuties, openState } from '#storage/open.ts'
import { partsIn, plainTime } from '#validators/duties/layout.ts'
import { missedFields } from '#validators/duties/missed.ts'
import type { RecordQuery } from '#validators/duties/record-query.ts'
import { dutiesHere, mergeDuties, queryDuties, updateDuties } from '#validators/duties/store.ts'
import { type Measure, measures } from '#validators/ratings/measures.ts'
import { aggregateFigures, figures, inputsFor } from '#validators/ratings/method.ts'
import { putValidators } from '#validators/registry/registry.ts'
import { openPostgres } from './ratings-postgres.ts'
import { entryOf, median, namedMax, type Question, questionsOf, sumsOf, timed } from './ratings-rows.ts'

const validators = Number(process.env.BENCH_VALIDATORS ?? 100_000)
const days = Number(process.env.BENCH_DAYS ?? 383)
const rounds = Number(process.env.BENCH_ROUNDS ?? 7)
const quickRounds = 40
const daysAsked = Math.min(days, 365)

const kept = process.env.BENCH_DIR
const dir = kept ?? mkdtempSync(join(tmpdir(), 'tetrad-ratings-'))
// An hour is a day here, so that half days are what arrives; only the last one's hours are kept.
const { value: settings } = complete(SettingsSchema, {
  server: { port: 0, answerTimeoutMs: 600_000 },
  validators: { networks: { mainnet: { epochsPerHour: 225, hoursKeptDays: 1 } } },
})
const time: ChainTime = plainTime(settings.validators.networks.mainnet)

type Postgres = Awaited<ReturnType<typeof openPostgres>>

async function fill(postgres: Postgres): Promise<void> {
  const state = await openDuties(dir)
  const duties = dutiesHere(state)
  const missed = Object.fromEntries(missedFields.map((field) => [field, new Int32Array()])) as never
  const none = { missed, audits: [], unexplained: [], watched: undefined }
  const head = { scores: new Map(), hoursKeptDays: 1, missedKeptDays: 0 }
  let [commitMs, mergeMs] = [0, 0]
  const written = writtenBytes()
  let day: { readonly day: number; readonly sums: Record<Measure, Float64Array> } | undefined
  for (const { part, day: number, epochs } of partsIn(time, { from: 0, until: days * time.epochsPerDay })) {
    const own = sumsOf(validators, part, epochs.until - epochs.from)
    if (postgres && day?.day !== number) {
      if (day) await postgres.take(day.day, day.sums)
      day = { day: number, sums: copyOf(own.sums) }
    } else if (day) addTo(day.sums, own.sums)
    const segments = [{ epochs, ...own, ...none }]
    commitMs += await timed(() => updateDuties(duties, 'commitEpochs', { network: 'mainnet', time, segments, head }))
    const input = { network: 'mainnet', time, until: epochs.until } as const
    mergeMs += await timed(() => mergeDuties(duties, input, new AbortController().signal))
    if ((number + 1) % 64 === 0 && epochs.until % time.epochsPerDay === 0) console.log(`  ${number + 1} days`)
  }
  if (postgres && day) await postgres.take(day.day, day.sums)
  await state.close()
  const cells = validators * days
  const { size } = statSync(join(dir, 'duties.sqlite'))
  const perCell = (value: number) => (value / cells).toFixed(1)
  console.log(`committed in ${(commitMs / 1000).toFixed(0)} s, merged in ${(mergeMs / 1000).toFixed(0)} s`)
  console.log(`${perCell(size)} bytes per validator-day on disk, chain days and UTC days together (goal ≤ 32)`)
  const ratio = (writtenBytes() - written) / size
  console.log(`${ratio.toFixed(1)} bytes written per stored byte, merging and journal included (goal ≤ 8)`)
}

const writtenBytes = (): number => Number(/^write_bytes: (\d+)/m.exec(readFileSync('/proc/self/io', 'utf8'))?.[1])

const copyOf = (sums: object) =>
  Object.fromEntries(
    Object.entries(sums).map(([name, column]) => [name, Float64Array.from(column as Float64Array)]),
  ) as Record<Measure, Float64Array>

function addTo(into: Record<Measure, Float64Array>, sums: object): void {
  for (const name of measures) {
    const [sum, more] = [into[name], (sums as Record<Measure, Float64Array>)[name]]
    for (let at = 0; at < sum.length; at++) sum[at] = (sum[at] as number) + (more[at] as number)
  }
}

const wantedOf = (who: readonly number[]) =>
  inputsFor(
    Object.values(who.length === 1 ? { ...figures, delay: aggregateFigures.sumInclusionDelay } : aggregateFigures),
  )

/** Reading, adding up and daily scores, without JSON and HTTP. */
async function sum(duties: Duties, { who, from, until }: Question): Promise<void> {
  for (let at = 0; at < who.length; at += namedMax) {
    const query: RecordQuery = {
      ...{ network: 'mainnet', time, isUtc: false, days: { from, until }, grain: 'days', byValidator: false },
      validators: who.slice(at, at + namedMax).toSorted((a, b) => a - b),
      windowOf: Array.from({ length: until - from }, (_, place) => from + place),
    }
    const { window } = await queryDuties(duties, 'sumRecords', { query, wanted: wantedOf(who) })
    if (window.length !== until - from) throw new Error(`${window.length} days`)
  }
}

/** Warm: code is compiled after some dozen calls, as it is in a server that runs. What takes long is repeated less often. */
async function medianMs(work: () => Promise<unknown>, count = rounds): Promise<number> {
  // The first call starts threads and reads modules.
  await work()
  const isQuick = (await timed(work)) < 200
  for (let round = 0; isQuick && round < quickRounds; round++) await work()
  const tookMs: number[] = []
  for (let round = 0; round < (isQuick ? quickRounds : count); round++) tookMs.push(await timed(work))
  return median(tookMs)
}

/** Our chunks in PostgreSQL. */
async function copyToPostgres(url: string) {
  const [source, state, target] = [
    await openDuties(dir),
    await openState(dir, { state: url }),
    await openDuties(dir, { state: url }),
  ]
  await identifySource(source, systemRandom)
  await moveState(source, target, () => {}, new AbortController().signal)
  await Promise.all([source.close(), state.close()])
  return target
}

async function compareSums(questions: readonly Question[], postgres: Postgres): Promise<void> {
  const state = await openDuties(dir)
  const shared = postgres && (await copyToPostgres(postgres.url))
  console.log('sums and daily scores, without JSON and HTTP:')
  for (const question of questions) {
    const ours = await medianMs(() => sum(dutiesHere(state), question))
    const parts = [`${ours.toFixed(1)} ms`]
    if (postgres && shared && question.who.length <= namedMax) {
      const rows: number[] = []
      for (let round = 0; round < 3; round++) rows.push(await postgres.ask(question))
      const theirs = median(rows)
      const chunks = await medianMs(() => sum(dutiesHere(shared), question), 3)
      parts.push(`PostgreSQL rows ${theirs.toFixed(1)} ms = ${(theirs / ours).toFixed(1)} × ours (goal ≥ 5)`)
      parts.push(`chunks in PostgreSQL ${chunks.toFixed(1)} ms: ${(theirs / chunks).toFixed(1)} × (goal ≥ 3)`)
    }
    console.log(`  ${question.name}: ${parts.join('; ')}`)
  }
  await Promise.all([state.close(), shared?.close()])
}

async function askOverHttp(questions: readonly Question[]): Promise<void> {
  const server = await startServer({ settings, dataDir: dir, log: silentLog })
  try {
    for (let from = 0; from < validators; from += 10_000) {
      const part = Array.from({ length: Math.min(10_000, validators - from) }, (_, at) => from + at)
      await putValidators(server.context.state, 'mainnet', part.map(entryOf))
    }
    const { context } = server
    const { key } = await createKey(context.state, { name: 'bench', plan: 'enterprise' }, context.clock, context.random)
    const call = (path: string) => callServer(`${server.url}${path}`, key)
    console.log('whole answers over HTTP:')
    for (const question of questions) {
      const took = await medianMs(() => askServer(question, call))
      const { goal } = goals.find(({ start: name }) => question.name.startsWith(name)) ?? {}
      console.log(`  ${question.name}: ${took.toFixed(1)} ms${goal ? ` (goal ≤ ${goal})` : ''}`)
    }
    const many = questions.findLast(({ name }) => name.includes('random'))
    const span = `from=${days - 1}&to=${days - daysAsked}&groupBy=validator&size=10`
    const took = await medianMs(() => call(`/v0/eth/validators/effectiveness?${span}&indices=${many?.who.join()}`))
    console.log(`  ${many?.who.length} random, by validator, size 10, with total: ${took.toFixed(1)} ms (goal ≤ 100)`)
  } finally {
    await server.close()
  }
}

const goals = [
  { start: 'one', goal: 8 },
  { start: '100 random', goal: 30 },
  { start: `${namedMax} random`, goal: 1200 },
]

/** One validator is 4.6, many are 4.5 with one record a day; more than may be named at once are several calls. */
async function askServer({ who, from, until }: Question, call: (path: string) => Promise<void>): Promise<void> {
  if (who.length === 1)
    return call(`/v1/eth/validators/${who[0]}/effectiveness?limit=${until - from}&fromDay=${from}&toDay=${until - 1}`)
  for (let at = 0; at < who.length; at += namedMax) {
    const named = who.slice(at, at + namedMax).join()
    const span = `from=${until - 1}&to=${from}&size=${until - from}&groupBy=timeWindow`
    await call(`/v0/eth/validators/effectiveness?${span}&indices=${named}`)
  }
}

function callServer(url: string, key: string): Promise<void> {
  return new Promise((resolve, reject) => {
    get(url, { headers: { authorization: `Bearer ${key}` } }, async (response) => {
      let bytes = 0
      for await (const chunk of response) bytes += (chunk as Buffer).length
      if (response.statusCode === 200 && bytes > 200) resolve()
      else reject(new Error(`${response.statusCode}, ${bytes} bytes`))
    }).on('error', reject)
  })
}

try {
  await using postgres = process.env.BENCH_POSTGRES === '0' ? undefined : await openPostgres()
  if (!postgres) console.log('without PostgreSQL')
  console.log(`${validators} validators × ${days} days`)
  if (!existsSync(join(dir, 'duties.sqlite'))) {
    await fill(postgres)
    await postgres?.ready()
  }
  const questions = questionsOf(validators, days, daysAsked)
  await compareSums(questions, postgres)
  await askOverHttp(questions)
} finally {
  if (!kept) rmSync(dir, { recursive: true, force: true })
}
