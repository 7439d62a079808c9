// Reads from replicas that are up to date, behind, or down.
import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { Fault } from '#core/fault.ts'
import { nextEventLoopTurn, systemClock } from '#runtime/clock.ts'
import { openPostgres } from '#test/open-database.ts'
import { noPostgres, startPostgres } from '#test/postgres.ts'
import { tables } from '#test/state-suite/store-location.ts'
import type { State, StateReader } from '../state.ts'

const add = 'insert into counters (name, value) values (?, ?)'
const count = 'select count(*) as n from counters'
const unavailable = (error: unknown): boolean => error instanceof Fault && error.code === 'store.unavailable'

const usesReplica = async ({ recent }: State): Promise<boolean> =>
  (await recent.get<{ n: number }>('select pg_is_in_recovery()::int as n'))?.n === 1

/** Until a replica answers. */
async function waitForReplica(state: State): Promise<void> {
  const attempts = 1000
  for (let attempt = 0; attempt < attempts; attempt++) {
    if (await usesReplica(state)) return
    await systemClock.sleep(pollMs)
  }
  assert.fail(`no replica answered in ${attempts} attempts`)
}

const pollMs = 20

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
  await waitForReplica(state)
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
  assert.equal(await usesReplica(state), false)
  await other.close()
  await state.close()
  await assert.rejects(open(replica), unavailable)
})

test('a snapshot of a replica does not change, and is used only if it has what the caller has seen (storage/state.ts, rule 8)', {
  skip: noPostgres,
}, async () => {
  await using server = await startPostgres()
  await using standby = await server.standby()
  const url = await server.schema()
  const replicas = [url.replace(`:${server.port}/`, `:${standby.port}/`)]
  const state = await openPostgres(url, [tables], { connections: 2, replicas })
  const other = await openPostgres(url, [tables], { connections: 1 })
  await state.write((tx) => tx.run(add, 'a', 1))
  await waitForReplica(state)
  const [isStandby, counts] = ['select pg_is_in_recovery()::int as n', { before: 0, after: 0 }]
  const numberIn = async (reader: StateReader, sql: string) => (await reader.get<{ n: number }>(sql))?.n ?? 0
  const wasStandby = await state.recent.snapshot(
    async () => true,
    async (reader) => {
      counts.before = await numberIn(reader, count)
      await other.write((tx) => tx.run(add, 'theirs', 1))
      for (let attempt = 0; (await standby.sql<{ n: number }>(countIn(url)))?.n !== 2; attempt++) {
        assert.ok(attempt < 1000, 'the standby has not replayed the commit')
        await systemClock.sleep(pollMs)
      }
      counts.after = await numberIn(reader, count)
      return numberIn(reader, isStandby)
    },
  )
  assert.deepEqual([wasStandby, counts], [1, { before: 1, after: 1 }])
  const checked = await state.recent.snapshot(
    async (reader) => (await numberIn(reader, count)) >= 3,
    (reader) => numberIn(reader, isStandby),
  )
  assert.equal(checked, 0)
  await other.close()
  await state.close()
})

/** The same in a session without the schema of the URL. */
const countIn = (url: string): string =>
  count.replace('counters', `${/search_path%3D(\w+)/.exec(url)?.[1] ?? assert.fail(url)}.counters`)

test('after a failover, a replica of the former primary is not used, however much log it has (storage/state.ts, rule 8)', {
  skip: noPostgres,
}, async () => {
  await using primary = await startPostgres()
  await using successor = await primary.standby()
  await using replica = await primary.standby()
  const url = await primary.schema()
  const hosts = `:${primary.port},127.0.0.1:${successor.port}/`
  const state = await openPostgres(url.replace(`:${primary.port}/`, hosts), [tables], {
    connections: 2,
    replicas: [url.replace(`:${primary.port}/`, `:${replica.port}/`)],
  })
  await waitForReplica(state)
  await state.write((tx) => tx.run(add, 'before', 1))
  const position = `select pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0')::bigint as lsn`
  const replayed = async (server: typeof replica) => (await server.sql<{ lsn: number }>(position))?.lsn ?? 0
  const written = "select pg_wal_lsn_diff(pg_current_wal_flush_lsn(), '0/0')::bigint as lsn"
  const waitForAll = async (server: typeof replica) => {
    const until = (await primary.sql<{ lsn: number }>(written))?.lsn ?? 0
    for (let attempt = 0; (await replayed(server)) < until; attempt++) {
      assert.ok(attempt < 1000, `the standby has not replayed the log up to ${until}`)
      await systemClock.sleep(pollMs)
    }
  }
  await waitForAll(successor)
  await successor.promote()
  // The replica is several segments ahead of all that the new primary writes below.
  for (let segment = 0; segment < 4; segment++) {
    await primary.sql('create table ahead (); drop table ahead')
    await primary.sql('select pg_switch_wal()')
  }
  await waitForAll(replica)
  await primary.kill()
  await state.write((tx) => tx.run(add, 'after', 1))
  assert.deepEqual(await state.recent.get(count), { n: 2 })
  const seen = state.version()
  await using other = new AsyncDisposableStack()
  const writer = other.adopt(
    await openPostgres(url.replace(`:${primary.port}/`, `:${successor.port}/`), [tables], { connections: 1 }),
    (opened) => opened.close(),
  )
  await writer.write((tx) => tx.run(add, 'theirs', 1))
  while (state.version() === seen) await nextEventLoopTurn()
  assert.deepEqual(await state.recent.get(count), { n: 3 })
  assert.equal(await usesReplica(state), false)
  await state.close()

  await using follower = await successor.standby()
  const [newUrl, followerUrl] = [successor, follower].map(({ port }) => url.replace(`:${primary.port}/`, `:${port}/`))
  const restarted = await openPostgres(newUrl ?? '', [tables], { connections: 2, replicas: [followerUrl ?? ''] })
  await waitForReplica(restarted)
  await restarted.close()
})
