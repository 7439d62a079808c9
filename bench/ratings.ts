// Goal: queries by validator are five times as fast as on a PostgreSQL table with a row per validator and day, and
// three times as fast if the packed rows are in PostgreSQL. Half days of all validators are committed and merged like by
// ingest, up to day 63 of a long span, which is the slowest moment for queries. The same figures are written to the
// table. Results are medians. BENCH_VALIDATORS, BENCH_DAYS and BENCH_ROUNDS change the size; BENCH_POSTGRES=0 skips
// PostgreSQL. With BENCH_DIR, the data is kept, and the next run of the same size (without PostgreSQL) uses it.
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ChainTime } from '#core/chain-time.ts'
import { complete } from '#core/schema-check.ts'
import { silentLog } from '#runtime/log.ts'
import { systemRandom } from '#runtime/random.ts'
import { chainTimeFrom, pinsOf } from '#runtime/settings/chain-pins.ts'
import { SettingsSchema } from '#runtime/settings.ts'
import { startServer } from '#server/app.ts'
import type { Duties } from '#storage/duties.ts'
import { createKey } from '#storage/keys.ts'
import { identifySources, moveStores } from '#storage/move.ts'
import { openDuties, openState } from '#storage/open.ts'
import { partsIn } from '#validators/duties/layout.ts'
import { missedFields } from '#validators/duties/missed.ts'
import type { RecordQuery } from '#validators/duties/record-query.ts'
import { dutiesOnThisThread, dutiesOnThreads } from '#validators/duties/store.ts'
import { type Measure, measures } from '#validators/method/measures.ts'
import { aggregateFigures, figures, inputsFor } from '#validators/method/method.ts'
import { putValidators } from '#validators/registry/registry.ts'
import { openPostgres } from './ratings-postgres.ts'
import { type BenchQuery, benchQueries, entryOf, median, sumsOf, timed, validatorsPerCall } from './ratings-rows.ts'

const validators = Number(process.env.BENCH_VALIDATORS ?? 100_000)
const days = Number(process.env.BENCH_DAYS ?? 383)
const rounds = Number(process.env.BENCH_ROUNDS ?? 7)
const quickRounds = 40
const queriedDays = Math.min(days, 365)

const keptDir = process.env.BENCH_DIR
const dir = keptDir ?? mkdtempSync(join(tmpdir(), 'tetrad-ratings-'))
// Chain hours are as long as days, so that half days are committed. Only the last day's hours are kept.
const { value: settings } = complete(SettingsSchema, {
  server: { port: 0, responseTimeoutMs: 600_000 },
  validators: { networks: { mainnet: { epochsPerHour: 225, hoursKeptDays: 1 } } },
})
const time: ChainTime = chainTimeFrom('mainnet', pinsOf(settings.validators.networks.mainnet))

type Postgres = Awaited<ReturnType<typeof openPostgres>>

async function fill(postgres: Postgres): Promise<void> {
  const state = await openDuties(dir)
  const duties = dutiesOnThisThread(state)
  const missed = Object.fromEntries(missedFields.map((field) => [field, new Int32Array()])) as never
  const none = { missed, audits: [], unexplained: [], watched: undefined }
  const head = { hoursKeptDays: 1, missedKeptDays: 0 }
  let [commitMs, mergeMs] = [0, 0]
  const written = writtenBytes()
  let day: { readonly day: number; readonly sums: Record<Measure, Float64Array> } | undefined
  for (const { number: part, chainDay: number, epochs } of partsIn(time, {
    from: 0,
    until: days * time.epochsPerDay,
  })) {
    const sumsOfPart = sumsOf(validators, part, epochs.until - epochs.from)
    if (postgres && day?.day !== number) {
      if (day) await postgres.take(day.day, day.sums)
      day = { day: number, sums: copyOf(sumsOfPart.sums) }
    } else if (day) addTo(day.sums, sumsOfPart.sums)
    const segments = [{ epochs, ...sumsOfPart, ...none }]
    commitMs += await timed(() => duties.update('commitEpochs', { network: 'mainnet', time, segments, head }))
    const input = { network: 'mainnet', time, until: epochs.until } as const
    mergeMs += await timed(() => duties.update('mergeSpans', input, { signal: new AbortController().signal }))
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

const wantedOf = (indices: readonly number[]) =>
  inputsFor(
    Object.values(indices.length === 1 ? { ...figures, delay: aggregateFigures.sumInclusionDelay } : aggregateFigures),
  )

/** Reads, adds up and computes daily scores, without JSON and HTTP. */
async function sum(duties: Duties, { validators: indices, from, until }: BenchQuery): Promise<void> {
  for (let at = 0; at < indices.length; at += validatorsPerCall) {
    const query: RecordQuery = {
      ...{ network: 'mainnet', time, isUtc: false, days: { from, until }, grain: 'days', byValidator: false },
      validators: indices.slice(at, at + validatorsPerCall).toSorted((a, b) => a - b),
      windowOfDay: Array.from({ length: until - from }, (_, at) => from + at),
    }
    const { window } = await duties.query('sumRecords', { query, wanted: wantedOf(indices) })
    if (window.length !== until - from) throw new Error(`${window.length} days`)
  }
}

/** Warm: code is compiled after some dozen calls, like in a running server. Slow work is repeated less often. */
async function medianMs(work: () => Promise<unknown>, count = rounds): Promise<number> {
  // The first call starts threads and loads modules.
  await work()
  const isQuick = (await timed(work)) < 200
  for (let round = 0; isQuick && round < quickRounds; round++) await work()
  const tookMs: number[] = []
  for (let round = 0; round < (isQuick ? quickRounds : count); round++) tookMs.push(await timed(work))
  return median(tookMs)
}

/** Copies the packed rows to PostgreSQL. */
async function copyToPostgres(url: string) {
  const [source, state, target] = [
    await openDuties(dir),
    await openState(dir, { state: url }),
    await openDuties(dir, { state: url }),
  ]
  await identifySources([source], systemRandom)
  await moveStores([{ source, target }], () => {}, new AbortController().signal)
  await Promise.all([source.close(), state.close()])
  return target
}

async function compareSums(queries: readonly BenchQuery[], postgres: Postgres): Promise<void> {
  // Like a server reads: a large query is divided among threads. PostgreSQL may use parallel workers as well.
  const state = await openDuties(dir)
  const onSqlite = dutiesOnThreads(state, { dir, options: settings.store })
  const copied = postgres && (await copyToPostgres(postgres.url))
  const shared = copied && dutiesOnThreads(copied, { dir, options: { ...settings.store, state: postgres.url } })
  console.log('sums and daily scores, without JSON and HTTP:')
  for (const query of queries) {
    const ours = await medianMs(() => sum(onSqlite, query))
    const parts = [`${ours.toFixed(1)} ms`]
    if (postgres && shared && query.validators.length <= validatorsPerCall) {
      const rows: number[] = []
      for (let round = 0; round < 3; round++) rows.push(await postgres.sum(query))
      const theirs = median(rows)
      const packed = await medianMs(() => sum(shared, query), 3)
      parts.push(`PostgreSQL rows ${theirs.toFixed(1)} ms = ${(theirs / ours).toFixed(1)} × ours (goal ≥ 5)`)
      parts.push(`packed rows in PostgreSQL ${packed.toFixed(1)} ms: ${(theirs / packed).toFixed(1)} × (goal ≥ 3)`)
    }
    console.log(`  ${query.name}: ${parts.join('; ')}`)
  }
  await Promise.all([onSqlite.close(), shared?.close()])
  await Promise.all([state.close(), copied?.close()])
}

async function measureHttp(queries: readonly BenchQuery[]): Promise<void> {
  const server = await startServer({ settings, dataDir: dir, log: silentLog })
  try {
    for (let from = 0; from < validators; from += 10_000) {
      const part = Array.from({ length: Math.min(10_000, validators - from) }, (_, at) => from + at)
      await putValidators(server.context.ingest, 'mainnet', part.map(entryOf))
    }
    const { context } = server
    const { key } = await createKey(context.state, { name: 'bench', plan: 'enterprise' }, context.clock, context.random)
    const call = (path: string) => callServer(`${server.url}${path}`, key)
    console.log('responses over HTTP:')
    for (const query of queries) {
      const took = await medianMs(() => queryServer(query, call))
      const { goal } = goals.find(({ start: name }) => query.name.startsWith(name)) ?? {}
      console.log(`  ${query.name}: ${took.toFixed(1)} ms${goal ? ` (goal ≤ ${goal})` : ''}`)
    }
    const largest = queries.findLast(({ name }) => name.includes('random'))
    const span = `from=${days - 1}&to=${days - queriedDays}&groupBy=validator&size=10`
    const took = await medianMs(() =>
      call(`/v0/eth/validators/effectiveness?${span}&indices=${largest?.validators.join()}`),
    )
    console.log(
      `  ${largest?.validators.length} random, by validator, size 10, with total: ${took.toFixed(1)} ms (goal ≤ 100)`,
    )
  } finally {
    await server.close()
  }
}

const goals = [
  { start: 'one', goal: 8 },
  { start: '100 random', goal: 30 },
  { start: `${validatorsPerCall} random`, goal: 1200 },
]

/** One validator: spec 4.6. Several: 4.5 with one record per day, in as many calls as needed. */
async function queryServer(
  { validators: indices, from, until }: BenchQuery,
  call: (path: string) => Promise<void>,
): Promise<void> {
  if (indices.length === 1)
    return call(
      `/v1/eth/validators/${indices[0]}/effectiveness?limit=${until - from}&fromDay=${from}&toDay=${until - 1}`,
    )
  for (let at = 0; at < indices.length; at += validatorsPerCall) {
    const named = indices.slice(at, at + validatorsPerCall).join()
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
  const questions = benchQueries(validators, days, queriedDays)
  await compareSums(questions, postgres)
  await measureHttp(questions)
} finally {
  if (!keptDir) rmSync(dir, { recursive: true, force: true })
}
