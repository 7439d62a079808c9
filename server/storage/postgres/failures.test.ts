// Tests broken connections, crashes and failovers of PostgreSQL.
import { strict as assert } from 'node:assert'
import { after, before, describe, test } from 'node:test'
import { Fault } from '#core/fault.ts'
import { BreakingProxy } from '#test/breaking-proxy.ts'
import { openPostgres } from '#test/open-database.ts'
import { noPostgres, type PostgresServer, startPostgres } from '#test/postgres.ts'
import { tables, writeInGroup } from '#test/state-suite/store-location.ts'
import type { State, StateWriter } from '../state.ts'
import type { PostgresOptions } from './postgres.ts'

const add = 'insert into counters (name, value) values (?, ?)'
const backendPid = 'select pg_backend_pid() as pid'
const unavailable = (error: unknown): boolean => error instanceof Fault && error.code === 'store.unavailable'
const soon = () => new Promise((resolve) => setTimeout(resolve, 20))

async function until(what: () => Promise<boolean> | boolean): Promise<void> {
  for (let tries = 0; tries < 3000; tries += 1) {
    if (await what()) return
    await soon()
  }
  assert.fail('it never came about')
}

const walked = async (state: State): Promise<void> => {
  for await (const _ of state.each('select 1 as n'));
}

describe('postgres', { skip: noPostgres }, () => {
  let server: PostgresServer
  before(async () => {
    server = await startPostgres()
  })
  after(() => server?.[Symbol.asyncDispose]())

  const openAt = (url: string, more: Partial<PostgresOptions> = {}): Promise<State> =>
    openPostgres(url, [tables], { connections: 2, ...more })
  const end = (which: string) =>
    server.sql(`select count(pg_terminate_backend(pid)) from pg_stat_activity where ${which}`)
  const names = async (state: State) =>
    (await state.all<{ name: string }>('select name from counters order by name')).map(({ name }) => name)

  test('a write is repeated after a lost connection and has its effect once (storage/state.ts, rule 7)', async () => {
    const state = await openAt(await server.schema())
    const addAndBreak = (name: string) => {
      let runs = 0
      return async (tx: StateWriter) => {
        runs += 1
        await tx.run(add, name, runs)
        if (runs === 1) await end(`pid = ${(await tx.get<{ pid: number }>(backendPid))?.pid}`)
        return runs
      }
    }
    assert.equal(await state.write(addAndBreak('alone')), 2)
    assert.equal(await writeInGroup(state, addAndBreak('in a group')), 2)
    assert.deepEqual(await names(state), ['alone', 'in a group'])
    await state.close()
  })

  test('reads continue after all connections were closed; a running iteration fails', async () => {
    const url = await server.schema()
    const state = await openAt(url)
    await state.write((tx) =>
      tx.insertMany(
        'things',
        ['id'],
        Array.from({ length: 3000 }, (_, id) => [id]),
      ),
    )
    const walk = state.each('select id from things order by id')[Symbol.asyncIterator]()
    assert.deepEqual((await walk.next()).value, { id: 0 })
    await end("pid <> pg_backend_pid() and backend_type = 'client backend'")
    assert.deepEqual(await state.get('select count(*) as n from things'), { n: 3000 })
    await assert.rejects(async () => {
      for (;;) if ((await walk.next()).done) return
    }, unavailable)
    await state.write((tx) => tx.run(add, 'a', 1))
    await state.close()
  })

  test('after a crash and restart, acknowledged writes are there exactly once', async () => {
    const state = await openAt(await server.schema())
    const acknowledged: string[] = []
    let stop = false
    const writer = async (of: number) => {
      for (let at = 0; !stop; at += 1) {
        const name = `${of} ${at}`
        // The name is new. A conflict would mean that the first attempt was committed.
        const write = (tx: StateWriter) => tx.run(add, name, at)
        await (of % 2 === 0 ? writeInGroup(state, write) : state.write(write))
        acknowledged.push(name)
      }
    }
    const writers = [0, 1, 2, 3].map(writer)
    const all = Promise.all(writers)
    for (let round = 0; round < 2; round += 1) {
      const goal = acknowledged.length + 40
      await until(() => acknowledged.length >= goal)
      if (round === 0) {
        // After kill −9 of one backend, the server restarts all others.
        let pid: number | undefined
        await until(async () => {
          const row = await server.sql<{ pid: number }>(
            "select pid from pg_stat_activity where query like '%insert into state_commits%' and pid <> pg_backend_pid() limit 1",
          )
          pid = row?.pid
          return pid !== undefined
        })
        // Process id 0 would be this process.
        assert(pid !== undefined && pid > 1)
        process.kill(pid, 'SIGKILL')
      } else {
        await server.kill()
        await server.start()
      }
    }
    const goal = acknowledged.length + 20
    await until(() => acknowledged.length >= goal)
    stop = true
    await all
    assert.deepEqual(await names(state), acknowledged.toSorted())
    await state.close()
  })

  test('a long outage is a fault; afterwards everything works without a restart', async () => {
    const state = await openAt(await server.schema(), { waitMs: 300 })
    await state.write((tx) => tx.run(add, 'a', 1))
    const version = state.version()
    await server.kill()
    const refused = [state.get('select 1 as n'), state.write((tx) => tx.run(add, 'b', 1)), walked(state)]
    await Promise.all(refused.map((one) => assert.rejects(one, unavailable)))
    // The server refuses connections, so no process can write, and caches stay valid for a while.
    assert.equal(state.version(), version)
    await server.start()
    assert.deepEqual(await names(state), ['a'])
    await state.write((tx) => tx.run(add, 'c', 1))
    assert.notEqual(state.version(), version)
    await state.close()
  })

  test('a start waits for a server that restarts, and reports the reason once; a command does not wait', async () => {
    const url = await server.schema()
    await server.kill()
    await assert.rejects(openAt(url), unavailable)
    const reasons: string[] = []
    const opening = openAt(url, { onWait: (reason) => void reasons.push(reason) })
    await until(() => reasons.length > 0)
    await server.start()
    const state = await opening
    await state.write((tx) => tx.run(add, 'a', 1))
    assert.deepEqual(await names(state), ['a'])
    assert.equal(reasons.length, 1)
    assert.match(reasons[0] ?? '', /cannot be reached/)
    await state.close()
    // What the configuration must change is not waited for.
    const wrong = openAt(url.replace(/\/[^/?]*(\?|$)/, '/missing$1'), { onWait: (reason) => void reasons.push(reason) })
    await assert.rejects(wrong, (error) => unavailable(error) && /no such database/.test(String(error)))
    assert.equal(reasons.length, 1)
  })

  test('if the network drops all packets, version throws soon; afterwards everything works again', async () => {
    await using proxy = new BreakingProxy(server.port)
    const url = (await server.schema()).replace(`:${server.port}/`, `:${await proxy.listen()}/`)
    const state = await openAt(url)
    const others = await openAt(url.replace(/:\d+\//, `:${server.port}/`))
    const isFault = () => {
      try {
        state.version()
        return false
      } catch (error) {
        return unavailable(error)
      }
    }
    proxy.silent = true
    const reading = state.get('select count(*) as n from counters')
    await others.write((tx) => tx.run(add, 'theirs', 1))
    await until(isFault)
    proxy.silent = false
    // The lost query is repeated on another connection.
    assert.deepEqual(await reading, { n: 1 })
    await until(() => !isFault())
    await state.write((tx) => tx.run(add, 'ours', 1))
    await others.close()
    await state.close()
  })

  test('commits of others are noticed although the connection that polls was closed', async () => {
    const url = await server.schema()
    const [ours, others] = [await openAt(url), await openAt(url)]
    const before = ours.version()
    await end("query like '%left join state_commits%' and pid <> pg_backend_pid()")
    await others.write((tx) => tx.run(add, 'a', 1))
    await until(() => ours.version() !== before)
    await ours.close()
    await others.close()
  })

  test('a start during a failover waits until a standby is promoted', async () => {
    const first = await startPostgres()
    const second = await first.standby()
    try {
      await first.kill()
      const reasons: string[] = []
      const hosts = [second, first].map(({ port }) => `127.0.0.1:${port}`).join()
      const onWait = (reason: string) => void reasons.push(reason)
      const opening = openAt(`postgres://postgres@${hosts}/postgres`, { onWait })
      await until(() => reasons.length > 0)
      await second.promote()
      const state = await opening
      await state.write((tx) => tx.run(add, 'a', 1))
      await state.close()
    } finally {
      await second[Symbol.asyncDispose]()
      await first[Symbol.asyncDispose]()
    }
  })

  test('the host that accepts writes is used, also after a failover', async () => {
    const first = await startPostgres()
    const second = await first.standby()
    try {
      const hosts = [second, first].map(({ port }) => `127.0.0.1:${port}`).join()
      const state = await openAt(`postgres://postgres@${hosts}/postgres`)
      await state.write((tx) => tx.run(add, 'before', 1))
      const there = () => second.sql<{ n: number }>('select count(*) as n from counters').catch(() => undefined)
      await until(async () => (await there())?.n === 1)
      await first.kill()
      await second.promote()
      await state.write((tx) => tx.run(add, 'after', 1))
      assert.deepEqual(await names(state), ['after', 'before'])
      await state.close()
    } finally {
      await second[Symbol.asyncDispose]()
      await first[Symbol.asyncDispose]()
    }
  })
})
