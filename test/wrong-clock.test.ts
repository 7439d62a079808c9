// A server that starts with a wrong clock, on both engines: it deletes and expires nothing that is not due
// (behaviour/operations.md#deletions-and-expiries).
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { createQuote } from '#fx/endpoints/create-quote.ts'
import { pushRate } from '#fx/extensions/push-rate/push-rate.ts'
import { storeRates } from '#fx/rates/rate-store.ts'
import { createKeyFinder } from '#http/key-cache.ts'
import { putMarkets } from '#markets/write/put-markets.ts'
import { callControl } from '#runtime/control-socket.ts'
import { silentLog } from '#runtime/log.ts'
import { type RunningServer, startServer } from '#server/app.ts'
import type { AppContext } from '#server/context.ts'
import { createKey } from '#storage/keys.ts'
import { addUsage, dayOf } from '#storage/usage.ts'
import { settingsWith, testRequestInfo } from './context.ts'
import { DrivenClock } from './driven-clock.ts'
import { inject } from './inject.ts'
import { noPostgres, startPostgres } from './postgres.ts'
import { runCommand } from './run-command.ts'
import { copyEmptyStores } from './template.ts'
import { waitUntil } from './wait-until.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs
const settings = {
  server: { port: 0 },
  console: { enabled: false },
  retention: { quotesDays: 30, everyMs: 1000 },
  markets: { history: { keptDays: 30 } },
  fx: { spender: `0x${'3'.repeat(40)}`, historyDays: 30, sources: [{ id: 'desk', kind: 'push' }] },
}

interface Run {
  readonly server: RunningServer
  readonly context: AppContext
  readonly clock: DrivenClock
}

async function openFolder(store: object) {
  const dataDir = await mkdtemp(join(tmpdir(), 'tetrad-clock-'))
  await copyEmptyStores(dataDir)
  return {
    dataDir,
    /** A run of the server, `aheadMs` after the first one. */
    async run(aheadMs: number, wrongByMs: number, work: (run: Run) => Promise<void>) {
      const clock = new DrivenClock(aheadMs)
      clock.wrongByMs = wrongByMs
      const parts = { settings: settingsWith({ ...settings, store }), dataDir, log: silentLog, clock }
      const server = await startServer(parts)
      try {
        await work({ server, context: server.context, clock })
      } finally {
        await server.close()
      }
    },
    [Symbol.asyncDispose]: () => rm(dataDir, { recursive: true, force: true }),
  }
}

/** When the data is made. The clock has been trusted by then. */
const madeMs = dayMs + hourMs

async function trustClock({ clock, context }: Run): Promise<void> {
  assert.ok(context.provenTime.forDeletions() < dayMs)
  clock.moveTo(madeMs)
  await waitUntil(() => isProven(context))
}

const isProven = ({ clock, provenTime }: AppContext) => Math.abs(clock.now() - provenTime.forDeletions()) < 1000

async function requestQuote(context: AppContext, idempotencyKey: string): Promise<string> {
  const input = {
    from: { currency: 'USDC', amount: '1000' },
    to: { currency: 'EURC' },
    tenor: 'instant',
    type: 'tradable',
    recipientAddress: `0x${'1'.repeat(40)}`,
    idempotencyKey,
  } as const
  const outcome = await createQuote.handle(input, context, testRequestInfo())
  assert.ok(outcome.is === 'bytes')
  return new TextDecoder().decode(outcome.bytes)
}

const quoteRow = (id: string, createdMs: number) => [
  id,
  'k',
  createdMs,
  0,
  null,
  '',
  '',
  new Uint8Array(1),
  new Uint8Array(1),
]
const quoteColumns = [
  'id',
  'key_id',
  'created_ms',
  'as_of_ms',
  'nonce',
  'priced_from',
  'receipt_key',
  'receipt_signature',
  'reply',
]

const market = (id: string) => ({ kind: 'market', id, fields: { slug: `market-${id}` } }) as const

/** Old data of every kind that is deleted by its age, and a key that expires. Returns the key. */
async function fill(context: AppContext): Promise<string> {
  const { state, ingest, clock, random } = context
  const nowMs = clock.now()
  await state.write((tx) =>
    tx.insertMany('fx_quotes', quoteColumns, [quoteRow('quote of 20 days', nowMs - 20 * dayMs)]),
  )
  await ingest.write((tx) => putMarkets(tx, [market('1')], nowMs - 20 * dayMs))
  const count = { keyId: 'k', endpoint: 'fx.createQuote', outcome: 'accepted', calls: 3 } as const
  await addUsage(state, [{ day: dayOf(nowMs) - 380, ...count }], new Map())
  const rate = { source: 'desk', base: 'EUR', quote: 'USD', rate: '1.2', atMs: nowMs - 20 * dayMs }
  await storeRates(state, 'desk', [rate], nowMs)
  await pushRate(context, { pair: 'EUR/USD', rate: '1.25' })
  const wanted = { name: 'expires', plan: 'free', expiresAtMs: nowMs + 10 * dayMs } as const
  return (await createKey(state, wanted, clock, random)).key
}

async function rowsOf({ state, ingest }: AppContext): Promise<unknown> {
  return {
    quotes: await state.all('select id from fx_quotes order by id'),
    keys: await state.all('select idempotency_key, quote_id from fx_idempotency order by 1'),
    usage: await state.all("select day, calls from usage where key_id = 'k' order by day"),
    rates: await state.all("select at_ms from fx_rates where rate = '1.2'"),
    versions: await ingest.all('select id, at_ms from market_versions order by seq'),
  }
}

/** What is due by the real time is deleted by a pass that began after this call. */
async function waitForRetention({ context, clock }: Run): Promise<void> {
  const { state, ingest } = context
  const dueMs = clock.now() - clock.wrongByMs - 31 * dayMs
  await state.write((tx) => tx.insertMany('fx_quotes', quoteColumns, [quoteRow('due', dueMs)]))
  await ingest.write((tx) =>
    tx.run(
      `insert into market_versions (seq, at_ms, kind, id, change_type, diff) values (-1, ?, 'market', 'due', 'created', '{}')`,
      dueMs,
    ),
  )
  await waitUntil(async () => !(await state.get("select 1 as one from fx_quotes where id = 'due'")))
  await waitUntil(async () => !(await ingest.get("select 1 as one from market_versions where id = 'due'")))
}

async function isEmpty({ state, ingest }: AppContext): Promise<boolean> {
  const quote = await state.get('select id from fx_quotes union all select quote_id as id from fx_idempotency')
  return !quote && !(await ingest.get('select 1 as one from market_versions'))
}

/** What retention deletes by. */
const timesOfRows = [
  ['fx_quotes', 'created_ms'],
  ['fx_idempotency', 'created_ms'],
  ['market_versions', 'at_ms'],
] as const

function testEngine(
  openStore: () => Promise<AsyncDisposable & { readonly store: object }>,
  skip: string | false,
): void {
  for (const [name, wrongByMs] of [['35 days', 35 * dayMs] as const, ['5 years', 1827 * dayMs] as const]) {
    test(`a start with the clock ${name} ahead leaves every row, and retries get their first reply`, {
      skip,
    }, async () => {
      await using opened = await openStore()
      await using folder = await openFolder(opened.store)
      let key = ''
      let quote = ''
      let rows: unknown
      await folder.run(0, 0, async (run) => {
        await trustClock(run)
        key = await fill(run.context)
        quote = await requestQuote(run.context, 'order')
        rows = await rowsOf(run.context)
      })
      await folder.run(madeMs + hourMs, wrongByMs, async (run) => {
        await waitForRetention(run)
        await pushRate(run.context, { pair: 'EUR/USD', rate: '1.3' })
        assert.equal(await requestQuote(run.context, 'order'), quote)
        assert.deepEqual(await rowsOf(run.context), rows)
        assert.equal(await createKeyFinder(run.context)(key), undefined)
        const { body } = await inject(run.server, { url: '/readyz' })
        assert.match(body, /the clock of this machine is \d+\.\d days ahead of the proven time/)
        const doctor = (await callControl(folder.dataDir, 'doctor', { sample: 0 }))?.result
        assert.match(JSON.stringify(doctor), /days ahead of the proven time .* run: tetrad retention run/)
      })
      await folder.run(madeMs + 2 * hourMs, 0, async (run) => {
        await waitForRetention(run)
        assert.equal(await requestQuote(run.context, 'order'), quote)
        assert.deepEqual(await rowsOf(run.context), rows)
        assert.equal((await createKeyFinder(run.context)(key))?.name, 'expires')
        assert.doesNotMatch((await inject(run.server, { url: '/readyz' })).body, /proven time/)
      })
    })
  }

  test('a server that was off for 40 days deletes within a day', { skip }, async () => {
    await using opened = await openStore()
    await using folder = await openFolder(opened.store)
    await folder.run(0, 0, async (run) => {
      await trustClock(run)
      await fill(run.context)
      await requestQuote(run.context, 'order')
    })
    const laterMs = madeMs + 40 * dayMs
    await folder.run(laterMs, 0, async ({ context, clock }) => {
      clock.moveTo(laterMs + dayMs + hourMs)
      await waitUntil(() => isProven(context))
      clock.moveTo(laterMs + dayMs + 2 * hourMs)
      await waitUntil(() => isEmpty(context))
    })
  })

  test('tetrad retention run deletes at once', { skip }, async () => {
    await using opened = await openStore()
    await using folder = await openFolder(opened.store)
    await folder.run(0, 0, async (run) => {
      await trustClock(run)
      await fill(run.context)
      await requestQuote(run.context, 'order')
    })
    await folder.run(madeMs + 40 * dayMs, 0, async ({ context }) => {
      assert.equal(await isEmpty(context), false)
      const report = (await callControl(folder.dataDir, 'retention'))?.result as { clock: string }
      assert.ok(Math.abs(Date.parse(report.clock) - context.clock.now()) < hourMs)
      assert.ok(isProven(context))
      assert.ok(await isEmpty(context))
    })
  })

  test('tetrad retention run deletes without a server too, and trusts the clock', { skip }, async () => {
    await using opened = await openStore()
    await using folder = await openFolder(opened.store)
    await folder.run(0, 0, async ({ context }) => {
      await fill(context)
      await requestQuote(context, 'order')
      for (const [table, column] of timesOfRows)
        await (table === 'market_versions' ? context.ingest : context.state).write((tx) =>
          tx.run(`update ${table} set ${column} = ${column} - ?`, 60 * dayMs),
        )
    })
    await writeFile(join(folder.dataDir, 'tetrad.yaml'), JSON.stringify({ ...settings, store: opened.store }))
    const run = () => runCommand(['retention', 'run', '--data', '.', '--json'], { cwd: folder.dataDir })
    const { code, stdout, stderr } = await run()
    assert.equal(code, 0, stderr)
    const { clock, ...deleted } = JSON.parse(stdout)
    assert.deepEqual(deleted, { idempotencyKeys: 1, quotes: 2, trades: 0, marketVersions: 1 })
    assert.ok(Math.abs(Date.parse(clock) - Date.now()) < hourMs)
    await folder.run(0, 0, async ({ context }) => {
      assert.ok(await isEmpty(context))
      assert.ok(isProven(context))
    })
  })

  test('a key that has expired stays expired when the clock is set back', { skip }, async () => {
    await using opened = await openStore()
    await using folder = await openFolder(opened.store)
    let key = ''
    await folder.run(0, 0, async (run) => {
      await trustClock(run)
      key = await fill(run.context)
      run.clock.moveTo(madeMs + 11 * dayMs)
      assert.equal(await createKeyFinder(run.context)(key), undefined)
    })
    await folder.run(madeMs + 11 * dayMs, -5 * dayMs, async ({ context }) => {
      assert.equal(await createKeyFinder(context)(key), undefined)
    })
  })
}

describe('on SQLite', () => {
  testEngine(async () => ({ store: {}, async [Symbol.asyncDispose]() {} }), false)
})

describe('on PostgreSQL', () => {
  testEngine(async () => {
    const server = await startPostgres()
    return { store: { state: await server.schema() }, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() }
  }, noPostgres)
})
