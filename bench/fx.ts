// Measures how many durable quotes are created per second. Goal: storing quotes reaches 0.70 of the rate of plain SQLite
// with the same rows, synced to disk, and as many rows per commit as there are callers. Rounds alternate, so that noise
// affects all measurements alike; ratios are those of the medians.
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes, randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import { contract } from '#api/contract/contract.ts'
import { complete } from '#core/schema-check.ts'
import { createFxCaches } from '#fx/context.ts'
import { createQuote } from '#fx/endpoints/create-quote.ts'
import { pushRate } from '#fx/extensions/push-rate/push-rate.ts'
import { readRequestedAmount } from '#fx/pricing/quote-input.ts'
import { type NewQuote, storeQuote } from '#fx/pricing/quotes.ts'
import { parser } from '#http/parse.ts'
import { systemClock } from '#runtime/clock.ts'
import { silentLog } from '#runtime/log.ts'
import { ProvenTime } from '#runtime/proven-time.ts'
import { systemRandom } from '#runtime/random.ts'
import { SettingsSchema } from '#runtime/settings.ts'
import { openState } from '#storage/open.ts'

const rounds = Number(process.env.BENCH_ROUNDS ?? 5)
const seconds = Number(process.env.BENCH_SECONDS ?? 2)
const callers = 32
const dir = mkdtempSync(join(tmpdir(), 'tetrad-fx-'))
const children: ChildProcess[] = []
const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0
const perSecond = (value: number) => `${Math.round(value).toLocaleString('en')}/s`

const { value: settings } = complete(SettingsSchema, {
  fx: {
    spender: '0x3333333333333333333333333333333333333333',
    sources: [{ id: 'desk', kind: 'push', staleMs: 86_400_000 }],
  },
})
const state = await openState(join(dir, 'ours'))
const world = {
  settings,
  clock: systemClock,
  provenTime: new ProvenTime(systemClock),
  random: systemRandom,
  log: silentLog,
}
const context = { state, ...world, fx: createFxCaches() }
await pushRate(context, { pair: 'EUR/USD', rate: '1.0842' })

const { input } = contract['fx.createQuote'].example
const body = { tenor: 'instant', type: 'tradable', ...input } as Parameters<typeof createQuote.handle>[0]
const requestInfo = {
  caller: { keyId: 'bench', plan: 'enterprise' },
  origin: '',
  headers: {},
  query: {},
} as const
await createQuote.handle(body, context, requestInfo)
const sample = await state.get<{ priced: string; key: string; signature: Uint8Array; reply: Uint8Array }>(
  'select priced_from as priced, receipt_key as key, receipt_signature as signature, reply from fx_quotes limit 1',
)

/** A new row of the size of a real one. */
const row = (): NewQuote => ({
  id: randomUUID(),
  keyId: 'bench',
  createdMs: Date.now(),
  asOfMs: Date.now(),
  nonce: randomBytes(6).readUIntBE(0, 6),
  pricedFrom: sample?.priced ?? '',
  receiptKey: sample?.key ?? '',
  receiptSignature: sample?.signature ?? new Uint8Array(),
  reply: sample?.reply ?? new Uint8Array(),
  overrides: 0,
})

/** The same table on the same disk with the same durability, without Tetrad. */
const bare = new DatabaseSync(join(dir, 'bare.sqlite'))
bare.exec(`pragma journal_mode = wal; pragma synchronous = full;
  create table fx_quotes (id text primary key, key_id text not null,
    created_ms integer not null, as_of_ms integer not null, nonce integer unique,
    priced_from text not null, receipt_key text not null, receipt_signature blob not null, reply blob not null) strict`)
const insert = bare.prepare('insert into fx_quotes values (?, ?, ?, ?, ?, ?, ?, ?, ?)')

function bareRows(together: number): number {
  const startMs = performance.now()
  const endMs = startMs + seconds * 1000
  let done = 0
  while (performance.now() < endMs) {
    bare.exec('begin immediate')
    for (let at = 0; at < together; at++) {
      const { id, keyId, createdMs, asOfMs, nonce, pricedFrom, receiptKey, receiptSignature, reply } = row()
      insert.run(id, keyId, createdMs, asOfMs, nonce, pricedFrom, receiptKey, receiptSignature, reply)
    }
    bare.exec('commit')
    done += together
  }
  return done / ((performance.now() - startMs) / 1000)
}

/** Runs `callers` loops that each call `work` again as soon as it has finished. */
async function measureCalls(work: () => Promise<unknown>): Promise<{ rate: number; tookMs: readonly number[] }> {
  const startMs = performance.now()
  const endMs = startMs + seconds * 1000
  const tookMs: number[] = []
  const caller = async () => {
    for (let sentMs = performance.now(); sentMs < endMs; sentMs = performance.now()) {
      await work()
      tookMs.push(performance.now() - sentMs)
    }
  }
  await Promise.all(Array.from({ length: callers }, caller))
  return { rate: tookMs.length / ((performance.now() - startMs) / 1000), tookMs: tookMs.sort((a, b) => a - b) }
}

const quantile = (sorted: readonly number[], of: number) => (sorted[Math.floor(sorted.length * of)] ?? 0).toFixed(1)

async function inProcess(): Promise<void> {
  const store = () => storeQuote(state, async () => row(), undefined)
  const create = () => createQuote.handle(body, context, requestInfo)
  const rates = { single: [] as number[], shared: [] as number[], stored: [] as number[], created: [] as number[] }
  let last: readonly number[] = []
  for (let round = 0; round < rounds; round++) {
    rates.single.push(bareRows(1))
    rates.shared.push(bareRows(callers))
    rates.stored.push((await measureCalls(store)).rate)
    const created = await measureCalls(create)
    rates.created.push(created.rate)
    last = created.tookMs
  }
  const [single, shared, stored, created] = [rates.single, rates.shared, rates.stored, rates.created].map(median)
  if (!single || !shared || !stored || !created) throw new Error('no measurements')
  const line = (name: string, value: number) =>
    `${name.padEnd(30)} ${perSecond(value).padStart(10)}  ${(value / shared).toFixed(2)} of plain shared commits, ${(value / single).toFixed(2)} of single ones`
  console.log(`SQLite, 1 row per commit        ${perSecond(single)}`)
  console.log(`SQLite, ${callers} rows per commit      ${perSecond(shared)}`)
  console.log(`${line('rows stored by Tetrad', stored)} (goal 0.70 of shared)`)
  console.log(
    `${line('quotes, priced and typed', created)}  p50 ${quantile(last, 0.5)} ms  p99 ${quantile(last, 0.99)} ms`,
  )
}

async function firstLine<T>(child: ChildProcess): Promise<T> {
  if (!child.stdout) throw new Error('no output to read')
  for await (const text of createInterface({ input: child.stdout })) return JSON.parse(text) as T
  throw new Error('the process ended without a line')
}

function launch(file: string, ...args: string[]): ChildProcess {
  const child = spawn(process.execPath, [join(import.meta.dirname, file), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  children.push(child)
  return child
}

async function overHttp(): Promise<void> {
  const { port, key } = await firstLine<{ port: number; key: string }>(launch('fx-server.ts', join(dir, 'http')))
  const text = JSON.stringify(body)
  const head = `POST /v1/exchange/fx/quotes HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n`
  const requests = join(dir, 'requests.json')
  writeFileSync(requests, JSON.stringify([head + text]))
  const load = (forSeconds: number, connections: number) =>
    firstLine<{ done: number; failed: number; seconds: number; p50Ms: number; p99Ms: number }>(
      launch('load.ts', String(port), requests, String(forSeconds), String(connections)),
    )
  await load(1, callers)
  for (const connections of [1, callers]) {
    const { done, failed, seconds: took, p50Ms, p99Ms } = await load(seconds * 2, connections)
    if (failed > 0) throw new Error(`${failed} of ${done} quotes were refused`)
    console.log(
      `over HTTP, ${String(connections).padStart(2)} connections     ${perSecond(done / took).padStart(10)}  p50 ${p50Ms.toFixed(1)} ms  p99 ${p99Ms.toFixed(1)} ms`,
    )
  }
}

function validation(): void {
  const parse = parser(contract['fx.createQuote'])
  const bytes = new TextEncoder().encode(JSON.stringify(body))
  const parts = { params: {}, query: {}, headers: {}, contentType: 'application/json', body: bytes }
  const check = () => readRequestedAmount(parse(parts), settings.fx.tokens)
  for (let warm = 0; warm < 20_000; warm++) check()
  const count = 100_000
  const startMs = performance.now()
  for (let at = 0; at < count; at++) check()
  const tookMs = performance.now() - startMs
  console.log(`validation                      ${((tookMs / count) * 1000).toFixed(1)} µs a request`)
}

try {
  await inProcess()
  await overHttp()
  validation()
} finally {
  for (const child of children) child.kill('SIGKILL')
  bare.close()
  await state.close()
  rmSync(dir, { recursive: true, force: true })
}
