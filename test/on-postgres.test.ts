// The server with its state on PostgreSQL: the tests of the eight endpoints once more, and what callers of two servers
// see while backends and a server are killed. Nothing but time.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { createClient } from '#api/client.ts'
import { openState } from '#store/open.ts'
import { noPostgres, type PostgresServer, startPostgres } from './postgres.ts'
import { startProcess } from './second-process.ts'

const groups = join(import.meta.dirname, '..', 'server', 'groups')
/** Where the eight endpoints are tested, and what they rest on. */
const endpointTests = [
  'explorer/label-lists',
  'explorer/exports',
  'explorer/funded-by',
  'explorer/fundings',
  'fx/create-quote',
  'fx/quotes',
  'validators/aggregate-effectiveness',
  'validators/effectiveness',
  'validators/metadata',
  'markets/by-slug',
]

describe('the state on PostgreSQL', { skip: noPostgres }, () => {
  let server: PostgresServer
  before(async () => {
    server = await startPostgres()
  })
  after(() => server?.[Symbol.asyncDispose]())

  test('the tests of the eight endpoints pass', async () => {
    const { NODE_TEST_CONTEXT: _, ...env } = process.env
    const files = endpointTests.map((name) => join(groups, `${name}.test.ts`))
    const child = spawn(process.execPath, ['--test', '--test-reporter=tap', ...files], {
      env: { ...env, TETRAD_TEST_STATE: server.url },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let said = ''
    child.stdout.on('data', (chunk) => {
      said += chunk
    })
    const [code] = await once(child, 'close')
    assert.equal(
      code,
      0,
      said
        .split('\n')
        .filter((line) => /not ok|error:|expected:|actual:/.test(line))
        .join('\n'),
    )
    assert.match(said, /# pass [1-9]\d/)
  })

  test('backends and a server are killed while quotes are made: every answered quote is there, and nobody is told an error', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'tetrad-test-'))
    const url = await server.schema()
    await using one = serving(join(dir, 'one'), url)
    const first = JSON.parse((await one.line()) ?? '') as { url: string; key: string }
    await using two = serving(join(dir, 'two'), url)
    const second = JSON.parse((await two.line()) ?? '') as { url: string }
    const clients = [first, second].map((at) => createClient({ baseUrl: at.url, key: first.key, retries: 0 }))
    try {
      const answered: string[] = []
      const errors: unknown[] = []
      let oneIsDead = false
      let stop = false
      const ask = async (number: number): Promise<void> => {
        const at = number % 2
        for (let order = 0; !stop && !(oneIsDead && at === 0); order += 1) {
          const idempotencyKey = `order-${number}-${order}`
          try {
            answered.push((await clients[at]?.fx.createQuote({ ...asked, idempotencyKey }))?.id ?? '')
          } catch (error) {
            if (!(oneIsDead && at === 0)) errors.push(error)
          }
        }
      }
      const asking = Array.from({ length: 6 }, (_, number) => ask(number))
      const more = async (count: number) => {
        const goal = answered.length + count
        while (answered.length < goal && errors.length === 0) await new Promise((resolve) => setTimeout(resolve, 10))
      }
      for (let round = 0; round < 3; round += 1) {
        await more(60)
        const row = await server.sql<{ pid: number }>(
          "select pid from pg_stat_activity where query like '%pg_notify%' and pid <> pg_backend_pid() limit 1",
        )
        if (row) process.kill(row.pid, 'SIGKILL')
      }
      await more(60)
      oneIsDead = true
      await one.kill()
      await more(60)
      stop = true
      await Promise.all(asking)
      assert.deepEqual(errors, [])
      const state = await openState(dir, { state: url })
      const kept = new Set((await state.all<{ id: string }>('select id from fx_quotes')).map(({ id }) => id))
      const pairs = await state.get<{ n: number }>(
        'select count(*) as n from fx_idempotency i join fx_quotes q on q.id = i.quote_id',
      )
      await state.close()
      assert.deepEqual(
        answered.filter((id) => !kept.has(id)),
        [],
      )
      assert.equal(new Set(answered).size, answered.length)
      assert.equal(pairs?.n, kept.size)
    } finally {
      await rm(dir, { recursive: true, force: true })
    }
  })
})

const asked = {
  from: { currency: 'USDC', amount: '1000' },
  to: { currency: 'EURC' },
  tenor: 'instant',
  recipientAddress: `0x${'11'.repeat(20)}`,
} as const

/** A whole server in a process of its own; it says where it is, and a key that may do everything. */
const serving = (dir: string, url: string) =>
  startProcess(`
    const { start } = await load('server/main.ts')
    const { silentLog } = await load('server/io/log.ts')
    const { createKey } = await load('server/store/keys.ts')
    const { createClient } = await load('api/client.ts')
    const { settingsWith } = await load('test/desk.ts')
    const settings = settingsWith({
      server: { port: 0 }, store: { state: ${JSON.stringify(url)} }, fx: { sources: [{ id: 'desk', kind: 'push' }] },
    })
    const { desk, url } = await start({ settings, dataDir: ${JSON.stringify(dir)}, log: silentLog })
    const wanted = { name: 'test', plan: 'enterprise', admin: true }
    const { key } = await createKey(desk.state, wanted, desk.clock, desk.random)
    await createClient({ baseUrl: url, key }).fx.setRate({ pair: 'EUR/USD', rate: '1.25' })
    say(JSON.stringify({ url, key }))
  `)
