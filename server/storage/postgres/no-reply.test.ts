// Statements whose reply does not arrive, although the connection stays open: after a failover behind a pooler, or on a
// network that drops packets.
import { strict as assert } from 'node:assert'
import { after, before, describe, test } from 'node:test'
import { storeChecks } from '#http/health.ts'
import { systemClock } from '#runtime/clock.ts'
import { stateWith } from '#test/authorization.ts'
import { BreakingProxy } from '#test/breaking-proxy.ts'
import { openPostgres } from '#test/open-database.ts'
import { noPgBouncer, startPgBouncer } from '#test/pgbouncer.ts'
import { noPostgres, type PostgresServer, startPostgres } from '#test/postgres.ts'
import { tables, writeInGroup } from '#test/state-suite/store-location.ts'
import { waitUntil } from '#test/wait-until.ts'
import { WriteHealth } from '../write-health.ts'

const add = 'insert into counters (name, value) values (?, ?)'
/** The connection is destroyed two seconds later. */
const statementMs = 500

describe('a statement without a reply', { skip: noPostgres }, () => {
  let server: PostgresServer
  before(async () => {
    server = await startPostgres()
  })
  after(() => server?.[Symbol.asyncDispose]())

  async function open(isPooled: boolean) {
    const resources = new AsyncDisposableStack()
    const pooler = isPooled ? resources.use(await startPgBouncer(server, 'transaction', 4)) : undefined
    const proxy = resources.use(new BreakingProxy(pooler?.port ?? server.port))
    const url = (pooler?.url ?? (await server.schema())).replace(/:\d+\//, `:${await proxy.listen()}/`)
    const options = { connections: 2, statementMs, ...(isPooled && { schemaSuffix: 'held' }) }
    const state = resources.adopt(await openPostgres(url, [tables], options), (opened) => opened.close())
    const names = async () =>
      (await state.all<{ name: string }>('select name from counters order by name')).map(({ name }) => name)
    return { proxy, state, names, [Symbol.asyncDispose]: () => resources.disposeAsync() }
  }

  for (const isPooled of [false, true]) {
    const skip = isPooled && noPgBouncer
    const where = isPooled ? 'behind PgBouncer in transaction mode' : 'without a pooler'

    test(`ends with 503, and its connection is closed; reads go on, and the next write succeeds, ${where}`, {
      skip,
    }, async () => {
      await using opened = await open(isPooled)
      const { proxy, state, names } = opened
      for (const isGrouped of [true, false]) {
        let runs = 0
        const write = async (tx: Parameters<Parameters<typeof state.write>[0]>[0]) => {
          runs += 1
          await tx.run(add, 'lost', 1)
        }
        proxy.decide = (text) => (text.includes('insert into counters') ? 'hold' : undefined)
        const writing = isGrouped ? writeInGroup(state, write) : state.write(write)
        const refused = assert.rejects(writing, {
          code: 'store.unavailable',
          detail: /no reply to a statement for 0\.5 s/,
        })
        await waitUntil(() => proxy.held === 1)
        assert.deepEqual(await state.get('select count(*) as n from counters where value = 1'), { n: 0 })
        await refused
        assert.equal(runs, 1, 'it is not repeated')
        await waitUntil(() => proxy.held === 0)
        proxy.decide = () => undefined
        await state.write((tx) => tx.run(add, isGrouped ? 'after a group' : 'after', 2))
      }
      assert.deepEqual(await names(), ['after', 'after a group'])
    })

    test(`of a commit ends with 503 and an unknown result; the write is not repeated, ${where}`, { skip }, async () => {
      await using opened = await open(isPooled)
      const { proxy, state, names } = opened
      await state.write((tx) => tx.run('delete from counters'))
      proxy.decide = (text) => (/;\ncommit;/.test(text) ? 'hold' : undefined)
      let runs = 0
      const writing = state.write(async (tx) => {
        runs += 1
        await tx.run(add, 'unknown', 1)
      })
      await assert.rejects(writing, { code: 'store.unavailable', detail: /unknown whether it succeeded/ })
      assert.equal(runs, 1)
      proxy.decide = () => undefined
      await state.write((tx) => tx.run(add, 'next', 1))
      assert.deepEqual(await names(), ['next', 'unknown'])
    })
  }

  test('long writes have no limit', async () => {
    await using opened = await open(false)
    const { state } = opened
    await state.write((tx) => tx.all(`select pg_sleep(${statementMs / 1000 + 2.5})::text as slept`), { isLong: true })
    await assert.rejects(
      state.write((tx) => tx.all(`select pg_sleep(${statementMs / 1000 + 2.5})::text as slept`)),
      { code: 'store.unavailable', detail: /took too long/ },
    )
  })

  test('a connection whose first statement gets no reply is an outage, after which the write is repeated', async () => {
    await using opened = await open(false)
    const { proxy, state, names } = opened
    proxy.breakAll()
    let isFirst = true
    proxy.decide = (text) => {
      if (!isFirst || !text.includes('pg_is_in_recovery')) return undefined
      isFirst = false
      return 'hold'
    }
    await state.write((tx) => tx.run(add, 'later', 1))
    assert.deepEqual(await names(), ['later'])
  })

  test('makes the server not ready while reads succeed, and ready again after it', async () => {
    await using opened = await open(false)
    const { proxy, state } = opened
    let nowMs = 0
    const health = new WriteHealth({ ...systemClock, monotonicMs: () => nowMs })
    const watched = health.watch(state, 'state')
    const check = storeChecks({ state: watched, ingest: watched, duties: stateWith(state, {}) as never }, health)
    const isReady = async () => (await check['state store']())[0]?.ok
    proxy.decide = (text) => (text.includes('insert into counters') ? 'hold' : undefined)
    const writing = watched.write((tx) => tx.run(add, 'lost', 1)).catch(() => {})
    const locked = watched.write(async () => waitUntil(() => nowMs === 6000), { lock: 'labels' })
    await waitUntil(() => proxy.held === 1)
    assert.equal(await isReady(), true)
    nowMs = 5000
    assert.equal(await isReady(), false)
    await writing
    assert.equal(await isReady(), true, 'a write that may wait for another one does not count')
    nowMs = 6000
    await locked
  })
})
