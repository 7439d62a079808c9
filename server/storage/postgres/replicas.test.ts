// Reads from replicas that are up to date, behind, or down.
import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { Fault } from '#core/fault.ts'
import { nextEventLoopTurn } from '#runtime/clock.ts'
import { openPostgres } from '#test/open-database.ts'
import { noPostgres, startPostgres } from '#test/postgres.ts'
import { tables } from '#test/state-suite/store-location.ts'

const add = 'insert into counters (name, value) values (?, ?)'
const count = 'select count(*) as n from counters'
const unavailable = (error: unknown): boolean => error instanceof Fault && error.code === 'store.unavailable'

test('recent reads use replicas that are up to date, otherwise the primary (storage/state.ts, rule 8)', {
  skip: noPostgres,
}, async () => {
  await using server = await startPostgres()
  await using standby = await server.standby()
  const url = await server.schema()
  const replica = url.replace(`:${server.port}/`, `:${standby.port}/`)
  const open = (at: string, replicas: readonly string[] = []) =>
    openPostgres(at, [tables], { connections: 2, replicas })
  const [state, other] = [await open(url, [replica]), await open(url)]
  const isStandby = async () => (await state.recent.get<{ n: number }>('select pg_is_in_recovery()::int as n'))?.n
  while ((await isStandby()) !== 1) await nextEventLoopTurn()
  await standby.sql('select pg_wal_replay_pause()')
  await state.write((tx) => tx.run(add, 'a', 1))
  assert.deepEqual(await state.recent.get(count), { n: 1 })
  const before = state.version()
  await other.write((tx) => tx.run(add, 'theirs', 1))
  while (state.version() === before) await nextEventLoopTurn()
  assert.deepEqual(await state.recent.get(count), { n: 2 })
  await standby.kill()
  await state.write((tx) => tx.run(add, 'b', 1))
  assert.deepEqual(await state.recent.get(count), { n: 3 })
  assert.equal(await isStandby(), 0)
  await other.close()
  await state.close()
  await assert.rejects(open(replica), unavailable)
})
