// The server with its state on PostgreSQL: the tests of the eight endpoints once more, and what callers of two servers
// see while backends and a server are killed. Nothing but time.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { createClient } from '#api/client.ts'
import { withChainTimes } from '#groups/validators/ingest/chain.ts'
import { openAdmission } from '#serve/admit.ts'
import type { Desk } from '#serve/answer.ts'
import { openDoor } from '#serve/http.ts'
import { openHouse } from '#serve/pipeline.ts'
import { endpoints } from '#server/endpoints.ts'
import { extensions } from '#server/extensions.ts'
import { type Demo, openDemo } from '#sim/demo.ts'
import { copySqlite } from '#store/engines/sqlite-copy.ts'
import { createKey } from '#store/keys.ts'
import { markSource, moveState } from '#store/move.ts'
import { openState } from '#store/open.ts'
import type { State } from '#store/state.ts'
import { openDesk } from './desk.ts'
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

  test('the demo world, moved over, answers every call with the same bytes', async () => {
    await using demo = disposable(await openDemo())
    await using desk = await openDesk(demo.settings)
    await demo.load(desk)
    const settings = await withChainTimes(desk)
    const { key } = await createKey(desk.state, { name: 'test', plan: 'enterprise' }, desk.clock, desk.random)
    const calls = await callsOf(desk.state, key)
    const embedded = await repliesOf({ ...desk, settings }, calls)
    await markSource(desk.state, desk.random)
    const copy = join(desk.dir, 'copy')
    await mkdir(copy)
    await copySqlite(join(desk.dir, 'state.sqlite'), join(copy, 'state.sqlite'))
    const source = await openState(copy)
    const target = await openState(desk.dir, { state: await server.schema() })
    const moved = await moveState(source, target, () => {}, new AbortController().signal)
    await source.close()
    assert.ok(moved.tables.reduce((sum, { rows }) => sum + rows, 0) > 3000)
    const larger = await repliesOf({ ...desk, settings, state: target }, calls)
    const refused = embedded.filter(({ status }) => status !== 200).map(({ url, status }) => `${status} ${url}`)
    assert.deepEqual(refused, [])
    for (const [at, reply] of embedded.entries()) assert.deepEqual(larger[at], reply)
    await target.close()
  })

  test('backends and a server are killed while quotes are made: every answered quote is there, and nobody is told an error', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'tetrad-test-'))
    const url = await server.schema()
    await using one = serving(join(dir, 'one'), url)
    const first = JSON.parse((await one.line()) ?? '') as { url: string; key: string }
    await using two = serving(join(dir, 'two'), url)
    const second = JSON.parse((await two.line()) ?? '') as { url: string }
    const clients = [first, second].map((at) => createClient({ baseUrl: at.url, key: first.key, retries: 0 }))
    const answered: string[] = []
    const errors: unknown[] = []
    let oneIsDead = false
    let stop = false
    try {
      const ask = async (number: number): Promise<void> => {
        const at = number % 2
        for (let order = 0; !stop && errors.length < 10 && !(oneIsDead && at === 0); order += 1) {
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
        process.kill(await writingBackend(server), 'SIGKILL')
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
      stop = true
      await rm(dir, { recursive: true, force: true })
    }
  })
})

/** One that has committed something; asked again while the server recovers from the last time. */
async function writingBackend(server: PostgresServer): Promise<number> {
  const sql = "select pid from pg_stat_activity where query like '%pg_notify%' and pid <> pg_backend_pid() limit 1"
  for (let tries = 0; tries < 500; tries += 1) {
    const row = await server.sql<{ pid: number }>(sql).catch(() => undefined)
    if (row) return row.pid
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Error('nobody writes')
}

const disposable = (demo: Demo): Demo & AsyncDisposable =>
  Object.assign(demo, { [Symbol.asyncDispose]: () => demo.close() })

/** Reads of all eight endpoints that have any, and of most beyond them. */
async function callsOf(state: State, key: string): Promise<string[]> {
  const addresses = await state.all<{ address: Uint8Array }>('select address from fundings order by address limit 60')
  const slugs = await state.all<{ slug: string }>('select slug from market_slugs order by slug limit 60')
  const explorer = (words: string) => `/v2/api?apikey=${key}&${words}`
  const networks = ['mainnet', 'hoodi'].flatMap((network) =>
    Array.from({ length: 12 }, (_, index) => [
      `/v0/eth/validators/${index}?network=${network}`,
      `/v1/eth/validators/${index}/effectiveness?network=${network}&limit=7`,
      `/v0/eth/validators/effectiveness?network=${network}&indices=${index},${index + 1}&size=3`,
    ]).flat(),
  )
  return [
    ...['1', '137'].map((chain) => explorer(`module=nametag&action=getlabelmasterlist&chainid=${chain}`)),
    ...addresses.map(({ address }) => explorer(`module=account&action=fundedby&address=0x${address.toHex()}`)),
    explorer(`module=account&action=fundedby&chainid=137&address=0x${'5'.repeat(40)}`),
    ...networks,
    `/v1/api.ashx?apikey=${key}&module=nametag&action=getlabelmasterlist`,
    explorer(`module=nametag&action=getlabelmasterlist&chainid=1&format=csv`),
    `/v0/eth/validators?pool=Harbour`,
    `/markets/search?q=the`,
    `/markets/changes?limit=50`,
    ...slugs.flatMap(({ slug }) => [`/markets/slug/${slug}`, `/markets/slug/${slug}?include_tag=false`]),
  ]
}

async function repliesOf(desk: Desk, calls: readonly string[]) {
  const admission = await openAdmission(desk)
  const house = openHouse(desk, [...endpoints, ...extensions], admission, { request: () => {} })
  const door = await openDoor(house, [])
  const headers = { authorization: `Bearer ${calls[0]?.match(/apikey=([^&]+)/)?.[1]}` }
  const replies = []
  for (const url of calls) {
    const { statusCode: status, rawPayload, headers: all } = await door.inject({ url, headers })
    const { etag, 'last-modified': modified, 'content-type': type } = all
    const told = Object.entries(all).filter(([name]) => name.startsWith('x-tetrad-'))
    replies.push({ url, status, bytes: rawPayload.toString(), etag, modified, type, told })
  }
  await door.close()
  await admission.close()
  return replies
}

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
