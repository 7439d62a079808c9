// A server on PostgreSQL whose writes get no reply, over HTTP.
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { createClient } from '#api/client/client.ts'
import { openLog, silentLog } from '#runtime/log.ts'
import { startServer } from '#server/app.ts'
import { createKey } from '#storage/keys.ts'
import { BreakingProxy } from '#test/breaking-proxy.ts'
import { settingsWith } from '#test/context.ts'
import { noPostgres, startPostgres } from '#test/postgres.ts'
import { waitUntil } from '#test/wait-until.ts'

/** The shortest limit of a statement. */
const stateWaitMs = 5000

test('a quote whose write gets no reply ends with 503, the server is not ready meanwhile, and the key finds one quote', {
  skip: noPostgres,
}, async () => {
  await using resources = new AsyncDisposableStack()
  const postgres = resources.use(await startPostgres())
  const proxy = resources.use(new BreakingProxy(postgres.port))
  const url = (await postgres.schema()).replace(`:${postgres.port}/`, `:${await proxy.listen()}/`)
  const dataDir = await mkdtemp(join(tmpdir(), 'tetrad-blocked-'))
  resources.defer(() => rm(dataDir, { recursive: true, force: true }))
  const settings = settingsWith({
    server: { port: 0, stopDelayMs: 0 },
    store: { state: url, stateWaitMs },
    fx: { sources: [{ id: 'desk', kind: 'push' }] },
  })
  const server = await startServer({ settings, dataDir, log: silentLog })
  resources.defer(() => server.close())
  const { state, clock, random } = server.context
  const { key } = await createKey(state, { name: 'test', plan: 'enterprise', admin: true }, clock, random)
  const client = createClient({ baseUrl: server.url, key, retries: 0 })
  await client.fx.setRate({ pair: 'EUR/USD', rate: '1.25' })
  const order = {
    from: { currency: 'USDC', amount: '10' },
    to: { currency: 'EURC' },
    tenor: 'instant',
    type: 'reference',
    idempotencyKey: 'order-1',
  } as const
  const isReady = async () => (await fetch(`${server.url}/readyz`)).status === 200
  assert.ok(await isReady())
  proxy.decide = (text) => (text.includes('insert into fx_quotes') ? 'hold' : undefined)
  const quoting = assert.rejects(client.fx.createQuote(order), { status: 503, code: -1 })
  await waitUntil(() => proxy.held === 1)
  proxy.decide = () => undefined
  await waitUntil(async () => !(await isReady()))
  assert.ok((await client.fx.rates({})).rates, 'reads are answered')
  await quoting
  const quote = await client.fx.createQuote(order)
  assert.deepEqual(await client.fx.createQuote(order), quote)
  assert.deepEqual(await state.get('select count(*) as n from fx_quotes'), { n: 1 })
  await waitUntil(isReady)
})

test('a server that starts while PostgreSQL restarts waits for it and logs the reason', {
  skip: noPostgres,
}, async () => {
  await using resources = new AsyncDisposableStack()
  const postgres = resources.use(await startPostgres())
  const url = await postgres.schema()
  const dataDir = await mkdtemp(join(tmpdir(), 'tetrad-waits-'))
  resources.defer(() => rm(dataDir, { recursive: true, force: true }))
  await postgres.kill()
  const lines: string[] = []
  const log = openLog('warn', (line) => lines.push(line))
  const starting = startServer({ settings: settingsWith({ server: { port: 0 }, store: { state: url } }), dataDir, log })
  await waitUntil(() => lines.some((line) => line.includes('the start waits for PostgreSQL')))
  await postgres.start()
  const server = await starting
  resources.defer(() => server.close())
  assert.equal((await fetch(`${server.url}/readyz`)).status, 200)
  assert.equal(lines.filter((line) => line.includes('the start waits for PostgreSQL')).length, 1)
})
