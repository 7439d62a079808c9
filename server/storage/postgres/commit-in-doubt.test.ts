// A connection that is lost during a commit, before or after PostgreSQL has done it, or in the middle.
import { strict as assert } from 'node:assert'
import { after, before, describe, test } from 'node:test'
import { nextEventLoopTurn } from '#runtime/clock.ts'
import { BreakingProxy } from '#test/breaking-proxy.ts'
import { openPostgres } from '#test/open-database.ts'
import { noPostgres, type PostgresServer, startPostgres } from '#test/postgres.ts'
import { tables, writeInGroup } from '#test/state-suite/store-location.ts'
import type { State, StateWriter } from '../state.ts'

const add = 'insert into counters (name, value) values (?, ?)'

describe('a commit whose result is lost', { skip: noPostgres }, () => {
  let server: PostgresServer
  before(async () => {
    server = await startPostgres()
  })
  after(() => server?.[Symbol.asyncDispose]())

  const openThrough = async (proxy: BreakingProxy): Promise<State> => {
    const url = (await server.schema()).replace(`:${server.port}/`, `:${await proxy.listen()}/`)
    return openPostgres(url, [tables], { connections: 2 })
  }
  const names = async (state: State) =>
    (await state.all<{ name: string }>('select name from counters order by name')).map(({ name }) => name)

  for (const [cut, runsExpected] of [
    ['answers', 1],
    ['questions', 2],
  ] as const) {
    test(`is there once and reported as committed if the connection breaks at its ${cut} (storage/state.ts, rule 1)`, async () => {
      await using proxy = new BreakingProxy(server.port)
      const state = await openThrough(proxy)
      const before = state.version()
      let runs = 0
      await state.write(async (tx) => {
        runs += 1
        await tx.run(add, 'a', 1)
        if (runs === 1) proxy.cut = cut
      })
      assert.equal(runs, runsExpected)
      assert.notEqual(state.version(), before)
      assert.deepEqual(await names(state), ['a'])
      await state.write((tx) => tx.run(add, 'b', 1))
      assert.deepEqual(await names(state), ['a', 'b'])
      await state.close()
    })
  }

  for (const isGrouped of [false, true])
    test(`is not done twice if PostgreSQL is still committing when the connection breaks, ${isGrouped ? 'in a group' : 'alone'} (storage/state.ts, rule 1)`, async () => {
      await using proxy = new BreakingProxy(server.port)
      const state = await openThrough(proxy)
      // A commit that waits for lock 7, as one may wait for a slow disk or a standby.
      await state.write((tx) => tx.run(add, 'n', 0))
      await state.write((tx) =>
        tx.run(`create function wait_at_commit() returns trigger language plpgsql as
          $$ begin perform pg_advisory_xact_lock(7); return null; end $$`),
      )
      await state.write((tx) =>
        tx.run(`create constraint trigger slow_commit after update on counters
          deferrable initially deferred for each row execute function wait_at_commit()`),
      )
      const holder = await openPostgres(await server.schema(), [tables], { connections: 1 })
      const gate = Promise.withResolvers<void>()
      const lock = Promise.withResolvers<void>()
      const held = holder.write(async (tx) => {
        await tx.get('select pg_advisory_xact_lock(7)::text as l')
        lock.resolve()
        await gate.promise
      })
      await lock.promise
      const waiting = async () =>
        (await server.sql<{ n: number }>('select count(*) as n from pg_locks where not granted'))?.n ?? 0
      const untilWaiting = async (count: number) => {
        while ((await waiting()) < count) await nextEventLoopTurn()
      }
      let runs = 0
      const increment = async (tx: StateWriter) => {
        runs += 1
        await tx.run(`update counters set value = value + 1 where name = 'n'`)
        return runs
      }
      const writing = isGrouped ? writeInGroup(state, increment) : state.write(increment)
      await untilWaiting(1)
      proxy.breakAll()
      // The lost transaction, and the check whether it was committed.
      await untilWaiting(2)
      gate.resolve()
      await held
      assert.equal(await writing, 1)
      assert.deepEqual(await state.get('select value from counters'), { value: 1 })
      await holder.close()
      await state.close()
    })
})
