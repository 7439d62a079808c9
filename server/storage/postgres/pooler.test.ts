import { strict as assert } from 'node:assert'
import { after, before, describe, test } from 'node:test'
import { Fault } from '#core/fault.ts'
import { openPostgres } from '#test/open-database.ts'
import { noPgBouncer, startPgBouncer } from '#test/pgbouncer.ts'
import { noPostgres, type PostgresServer, startPostgres } from '#test/postgres.ts'
import { tables, writeInGroup } from '#test/state-suite/store-location.ts'
import type { StateWriter } from '../state.ts'
import { parsePostgresUrl } from './address.ts'
import { checkPostgres } from './check.ts'
import { SharedConnection } from './errors.ts'
import { PostgresSession } from './session.ts'

const isRefused = (error: unknown): boolean => {
  assert(error instanceof Fault && error.code === 'store.unavailable', String(error))
  assert.match(error.message, /another connection of PostgreSQL for each transaction.*pool_mode = session/)
  return true
}

describe('a pooler', { skip: noPostgres || noPgBouncer }, () => {
  let server: PostgresServer
  before(async () => {
    server = await startPostgres()
  })
  after(() => server?.[Symbol.asyncDispose]())
  const tablesOf = () =>
    server.sql<{ n: number }>(`select count(*) as n from pg_tables where tablename in ('counters', 'state_commits')`)

  test('PgBouncer in transaction mode is refused with the reason, and no table is created', async () => {
    await using pooler = await startPgBouncer(server, 'transaction')
    for (const subschema of [{}, { subschema: 'duties' }])
      await assert.rejects(openPostgres(pooler.url, [tables], { connections: 2, ...subschema }), isRefused)
    assert.deepEqual(await tablesOf(), { n: 0 })
  })

  test('PgBouncer in transaction mode is refused for every kind of session', async () => {
    await using pooler = await startPgBouncer(server, 'transaction')
    for (const purpose of ['read', 'write', 'walk', 'replica'] as const)
      await assert.rejects(PostgresSession.open(parsePostgresUrl(pooler.url), purpose), SharedConnection)
    await assert.rejects(checkPostgres(pooler.url), isRefused)
  })

  test('PgBouncer in session mode is used', async () => {
    await using pooler = await startPgBouncer(server, 'session')
    const state = await openPostgres(pooler.url, [tables], { connections: 2 })
    await state.write((tx) => tx.run("insert into counters values ('a', 1)"))
    assert.deepEqual(await state.all('select name from counters'), [{ name: 'a' }])
    await state.close()
  })

  test('that changes the connection later is noticed by the next transaction', async () => {
    const state = await openPostgres(await server.schema(), [tables], { connections: 1 })
    // What the next transaction would find on the connection of another session.
    await state.write((tx) => tx.run(`set tetrad.session = 'another'`))
    const add = (tx: StateWriter) => tx.run("insert into counters values ('a', 1)")
    await assert.rejects(state.write(add), isRefused)
    await assert.rejects(writeInGroup(state, add), isRefused)
    assert.deepEqual(await state.all('select name from counters'), [])
    await state.close()
  })
})
