import { strict as assert } from 'node:assert'
import { after, before, describe, test } from 'node:test'
import { nextEventLoopTurn } from '#runtime/clock.ts'
import { BreakingProxy } from '#test/breaking-proxy.ts'
import { openPostgres } from '#test/open-database.ts'
import { noPgBouncer, startPgBouncer } from '#test/pgbouncer.ts'
import { noPostgres, type PostgresServer, startPostgres } from '#test/postgres.ts'
import { tables, writeInGroup } from '#test/state-suite/store-location.ts'
import type { StateWriter } from '../state.ts'
import { parsePostgresUrl } from './address.ts'
import { checkPostgres } from './check.ts'
import { PostgresSession } from './session.ts'

const add = 'insert into counters (name, value) values (?, ?)'

describe('a pooler', { skip: noPostgres || noPgBouncer }, () => {
  let server: PostgresServer
  before(async () => {
    server = await startPostgres()
  })
  after(() => server?.[Symbol.asyncDispose]())
  /** Two servers, with more connections to the pooler than the pooler has to PostgreSQL. */
  async function openTwo(url: string, options = {}) {
    const resources = new AsyncDisposableStack()
    const open = async () =>
      resources.adopt(await openPostgres(url, [tables], { connections: 4, ...options }), (state) => state.close())
    return { one: await open(), other: await open(), [Symbol.asyncDispose]: () => resources.disposeAsync() }
  }

  for (const options of [{}, { schemaSuffix: 'duties' }])
    test(`PgBouncer in transaction mode can be used, ${JSON.stringify(options)}`, async () => {
      await using pooler = await startPgBouncer(server, 'transaction', 4)
      await using servers = await openTwo(pooler.url, options)
      const { one, other } = servers
      await one.write((tx) => tx.run(add, 'n', 0))
      const increment = async (tx: StateWriter) => {
        const row = await tx.get<{ value: number }>(`select value from counters where name = 'n'`)
        await tx.run(`update counters set value = ? where name = 'n'`, (row?.value ?? 0) + 1)
      }
      const calls = Array.from({ length: 40 }, async (_, at) => {
        const state = at % 2 === 0 ? one : other
        await state.write(increment, { lock: 'markets' })
        await writeInGroup(state, (tx) => tx.run(add, `group ${at}`, at))
        assert.deepEqual(await state.all('select value from counters where name = ?', `group ${at}`), [{ value: at }])
        const seen = await state.snapshot(async (reader) => [
          await reader.get('select count(*) as n from counters'),
          await reader.get('select count(*) as n from counters'),
        ])
        assert.deepEqual(seen[0], seen[1])
        await assert.rejects(state.get(`${add} returning value`, `read ${at}`, 1), /does not accept writes/)
      })
      await Promise.all(calls)
      assert.deepEqual(await one.get(`select value from counters where name = 'n'`), { value: 40 })
      const names = []
      for await (const row of one.each('select name from counters')) names.push(row)
      assert.equal(names.length, 41)
      const before = other.version()
      await one.write((tx) => tx.run(add, 'last', 1))
      while (other.version() === before) await nextEventLoopTurn()
      assert.deepEqual(await other.recent.get(`select value from counters where name = 'last'`), { value: 1 })
    })

  test('a commit through PgBouncer whose result is lost is done once', async () => {
    await using pooler = await startPgBouncer(server, 'transaction', 4)
    await using proxy = new BreakingProxy(pooler.port)
    const url = pooler.url.replace(`:${pooler.port}/`, `:${await proxy.listen()}/`)
    const state = await openPostgres(url, [tables], { connections: 1, schemaSuffix: 'lost' })
    for (const cut of ['answers', 'questions'] as const) {
      let runs = 0
      await state.write(async (tx) => {
        runs += 1
        await tx.run(add, cut, runs)
        if (runs === 1) proxy.cut = cut
      })
      assert.equal(runs, cut === 'answers' ? 1 : 2)
    }
    assert.deepEqual(await state.all('select name from counters order by name'), [
      { name: 'answers' },
      { name: 'questions' },
    ])
    await state.close()
  })

  test('nothing stays in a connection of PgBouncer', async () => {
    await using pooler = await startPgBouncer(server, 'transaction', 1)
    for (const purpose of ['write', 'read', 'walk', 'replica'] as const) {
      const session = await PostgresSession.open(parsePostgresUrl(pooler.url), purpose)
      for (let times = 0; times < 3; times += 1) await session.rows('select 1 as one')
      await session.close()
    }
    const session = await PostgresSession.open(parsePostgresUrl(pooler.url), 'write')
    assert.deepEqual(await session.rows('select name from pg_prepared_statements'), [])
    assert.deepEqual(
      await session.rows(
        `select name from pg_settings where source = 'session' and name not in ('application_name', 'client_encoding')`,
      ),
      [],
    )
    await session.close()
    assert.equal((await checkPostgres(pooler.url)).risks.length, 1)
  })

  test('PgBouncer in session mode is used', async () => {
    await using pooler = await startPgBouncer(server, 'session')
    const state = await openPostgres(pooler.url, [tables], { connections: 2, schemaSuffix: 'session' })
    await state.write((tx) => tx.run("insert into counters values ('a', 1)"))
    assert.deepEqual(await state.all('select name from counters'), [{ name: 'a' }])
    await state.close()
  })
})
