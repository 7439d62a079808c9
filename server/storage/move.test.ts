// Tests moving a data folder to PostgreSQL: completeness, later changes, interruptions, and protection of other data.
import { strict as assert } from 'node:assert'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { createSeededRandom } from '#simulator/seeded-random.ts'
import { seededRandom } from '#test/context.ts'
import { isLongRun, seedsOf } from '#test/long.ts'
import { noPostgres, type PostgresServer, startPostgres } from '#test/postgres.ts'
import { copyEmptyStores } from '#test/template.ts'
import { addCoverage, coverageOf, cursorOf, moveCursor } from './coverage.ts'
import { identifySources, type MoveProgress, moveStores, refuseUnfinishedState, type StoreMove } from './move.ts'
import { tablesOf } from './move-tables.ts'
import { openDuties, openIngest, openState, openStores } from './open.ts'
import { openSnapshot } from './sqlite/copy.ts'
import type { State, StateWriter } from './state.ts'

const never = new AbortController().signal

/** Rows are moved in ranges of 1000. */
const moreThanRange = 1020
/** Steps between two interruptions of a move. Which steps are interrupted follows from the seed of the run. */
const stepsBetween = isLongRun ? 1 : 12

async function copySqlite(file: string, target: string): Promise<void> {
  using snapshot = openSnapshot(file)
  await snapshot.copyTo(target)
}

async function createDataFolder() {
  const dir = await mkdtemp(join(tmpdir(), 'tetrad-move-'))
  await copyEmptyStores(dir)
  return {
    dir,
    /** A snapshot of the database. */
    async snapshot(live: State): Promise<State> {
      await identifySources([live], seededRandom('move'))
      const folder = await mkdtemp(join(dir, 'copy-'))
      await copySqlite(join(dir, 'state.sqlite'), join(folder, 'state.sqlite'))
      return openState(folder)
    },
    [Symbol.asyncDispose]: () => rm(dir, { recursive: true, force: true }),
  }
}

/** Rows in tables of every kind: with and without keys, with composite keys, bytes and foreign keys. */
async function fill(tx: StateWriter, seed: string, count: number): Promise<void> {
  const draws = createSeededRandom(seed)
  for (let at = 0; at < count; at += 1) {
    const id = `${seed}-${at}`
    await tx.run(
      `insert into fx_quotes
         (id, key_id, created_ms, as_of_ms, nonce, priced_from, receipt_key, receipt_signature, reply)
       values (?, 'k', 1, 3, ?, ?, 'r', ?, ?)`,
      ...[id, draws.whole(0, 2 ** 50), 'tab\t\\N "ünï"\n', Uint8Array.of(1), Uint8Array.of(0, at % 256)],
    )
    await tx.run('insert into fx_idempotency values (?, ?, ?, ?, ?)', 'k', id, 'hash', id, at)
    // The quotes below that are deleted have no trade.
    if (at % 10 === 0)
      await tx.run(
        `insert into fx_trades
           (id, key_id, address, signature, signed_by, state, accepted_ms, deadline_ms, updated_ms, reply)
         values (?, 'k', '0x11', ?, 'key', 'accepted', 1, 2, ?, ?)`,
        ...[id, Uint8Array.of(27, at % 256), at, Uint8Array.of(0, at % 256)],
      )
    await tx.run('insert into cursors (stream, at) values (?, ?)', `${seed}/${at}`, at)
    await tx.run('insert into usage values (?, ?, ?, ?, ?)', '2026-11-15', seed, id, draws.hex(64), at)
  }
  await tx.run('update key_revision set revision = revision + 7')
}

const fillDuties = (tx: StateWriter, seed: string, count: number): Promise<unknown> => {
  const draws = createSeededRandom(seed)
  const rows = Array.from({ length: count }, (_, at) => [2 ** 46 + at, Buffer.from(draws.hex(600), 'hex')])
  return tx.insertMany('duty_days', ['id', 'data'], rows, 'on conflict (id) do update set data = excluded.data')
}

async function contents(state: State, source: State, except: readonly string[] = []): Promise<Record<string, unknown>> {
  const found: Record<string, unknown> = {}
  for (const { name, columns } of await tablesOf(source)) {
    if (except.includes(name)) continue
    const condition = name === 'cursors' ? "where stream not like 'move/%'" : ''
    found[name] = await state.all(`select * from ${name} ${condition} order by ${columns.join(', ')}`)
  }
  return found
}

describe('moving to PostgreSQL', { skip: noPostgres }, () => {
  let server: PostgresServer
  before(async () => {
    server = await startPostgres()
  })
  after(() => server?.[Symbol.asyncDispose]())

  test('copies all rows; a second move copies later changes, including deletions', async () => {
    await using dataFolder = await createDataFolder()
    const live = await openState(dataFolder.dir)
    const target = await openState(dataFolder.dir, { state: await server.schema() })
    await live.write((tx) => fill(tx, 'one', moreThanRange))
    const first = await dataFolder.snapshot(live)
    const report = await moveStores([{ source: first, target }], () => {}, never)
    assert.deepEqual(await contents(target, first), await contents(first, first))
    assert.equal(report.find(({ name }) => name === 'fx_quotes')?.rows, moreThanRange)
    assert.equal(report.find(({ name }) => name === 'fx_trades')?.rows, Math.ceil(moreThanRange / 10))
    await first.close()

    await live.write(async (tx) => {
      await fill(tx, 'two', 20)
      await tx.run("delete from fx_idempotency where idempotency_key in ('one-7', 'one-8')")
      await tx.run("delete from fx_quotes where id = 'one-7'")
      // References another quote than before, and the old one is deleted.
      await tx.run("update fx_idempotency set quote_id = 'two-1' where idempotency_key = 'one-9'")
      await tx.run("delete from fx_quotes where id = 'one-9'")
      await tx.run("update fx_quotes set key_id = 'other' where id = 'one-1'")
      await tx.run("update fx_trades set state = 'settled', tx_hash = '0x22' where id = 'one-10'")
      await tx.run("delete from fx_trades where id = 'one-20'")
      await tx.run("delete from usage where key_id = 'one' and calls > 900")
    })
    const second = await dataFolder.snapshot(live)
    const again = await moveStores([{ source: second, target }], () => {}, never)
    assert.deepEqual(await contents(target, second), await contents(second, second))
    // The third move has nothing to do.
    const third = await moveStores([{ source: second, target }], () => {}, never)
    assert.deepEqual(
      third.map(({ written }) => written).filter((written) => written > 0),
      [],
    )
    assert.deepEqual(
      third.map(({ sha256 }) => sha256),
      again.map(({ sha256 }) => sha256),
    )
    for (const state of [second, live, target]) await state.close()
  })

  test('continues after an interruption at any time', async () => {
    await using dataFolder = await createDataFolder()
    const live = await openState(dataFolder.dir)
    const target = await openState(dataFolder.dir, { state: await server.schema() })
    await live.write((tx) => fill(tx, 'one', moreThanRange))
    const snapshot = await dataFolder.snapshot(live)
    const [first = 0] = seedsOf(stepsBetween, 1)
    for (let steps = 1 + first; ; steps += stepsBetween) {
      const stop = new AbortController()
      let seen = 0
      const work = moveStores(
        [{ source: snapshot, target }],
        () => {
          seen += 1
          if (seen === steps) stop.abort()
        },
        stop.signal,
      )
      if (await work.then(() => true).catch((error: Error) => assert.equal(error.name, 'AbortError'))) break
      await assert.rejects(refuseUnfinishedState(target), /the move to this database is not complete/)
    }
    await refuseUnfinishedState(target)
    assert.deepEqual(await contents(target, snapshot), await contents(snapshot, snapshot))
    for (const state of [snapshot, live, target]) await state.close()
  })

  describe('with all databases', () => {
    /** All databases of a folder, and their targets. */
    async function openBoth(dataFolder: Awaited<ReturnType<typeof createDataFolder>>) {
      const url = await server.schema()
      const live = {
        state: await openState(dataFolder.dir),
        ingest: await openIngest(dataFolder.dir),
        duties: await openDuties(dataFolder.dir),
      }
      const target = { state: await openState('', { state: url }), duties: await openDuties('', { state: url }) }
      const snapshot = async (): Promise<readonly StoreMove[]> => {
        await identifySources([live.state, live.ingest], seededRandom('move'))
        await identifySources([live.duties], seededRandom('move'))
        const folder = await mkdtemp(join(dataFolder.dir, 'copy-'))
        for (const name of ['state.sqlite', 'ingest.sqlite', 'duties.sqlite'])
          await copySqlite(join(dataFolder.dir, name), join(folder, name))
        return [
          { source: await openState(folder), target: target.state, except: ['cursors'] },
          { source: await openIngest(folder), target: target.state },
          { source: await openDuties(folder), target: target.duties, prefix: 'duties.' },
        ]
      }
      const opened: State[] = [...Object.values(live), ...Object.values(target)]
      return {
        live,
        target,
        snapshot,
        serve: () => openStores(join(dataFolder.dir, 'server'), { state: url }),
        close: async (...more: State[]) => {
          for (const state of [...opened, ...more]) await state.close()
        },
      }
    }

    test('all are copied, and no server starts on any until all are complete', async () => {
      await using dataFolder = await createDataFolder()
      const { live, snapshot, serve, close } = await openBoth(dataFolder)
      await live.state.write((tx) => fill(tx, 'one', 50))
      await live.ingest.write((tx) => moveCursor(tx, 'explorer/blocks/1', 7))
      await live.duties.write(async (tx) => {
        await fillDuties(tx, 'one', moreThanRange)
        await addCoverage(tx, 'duties/mainnet', 3, 9)
      })
      const moves = await snapshot()
      const stopped: string[] = []
      for (let steps = 1; ; steps += 9) {
        const stop = new AbortController()
        let seen = 0
        const report = ({ table }: MoveProgress) => {
          seen += 1
          if (seen === steps) {
            stop.abort()
            stopped.push(table)
          }
        }
        const work = moveStores(moves, report, stop.signal)
        if (await work.then(() => true).catch((error: Error) => assert.equal(error.name, 'AbortError'))) break
        await assert.rejects(serve(), /the move to this database is not complete/)
      }
      assert.ok(
        stopped.some((name) => name.startsWith('duties.')) && stopped.some((name) => !name.startsWith('duties.')),
      )
      const stores = await serve()
      for (const { source, target, except } of moves)
        assert.deepEqual(await contents(target, source, except), await contents(source, source, except))
      assert.equal(await cursorOf(stores.ingest, 'explorer/blocks/1'), 7)
      assert.equal((await stores.duties.all('select id from duty_days')).length, moreThanRange)
      assert.deepEqual(await coverageOf(stores.duties, 'duties/mainnet'), [{ from: 3, until: 9 }])
      assert.deepEqual(await coverageOf(stores.state, 'duties/mainnet'), [])
      await stores.close()
      await close(...moves.map(({ source }) => source))
    })

    test('days that were merged into spans since the last move are deleted from the target', async () => {
      await using dataFolder = await createDataFolder()
      const { live, snapshot, target, close } = await openBoth(dataFolder)
      await live.duties.write((tx) => fillDuties(tx, 'one', moreThanRange))
      const first = await snapshot()
      await moveStores(first, () => {}, never)
      await live.duties.write(async (tx) => {
        await tx.run('delete from duty_days where id >= ?', 2 ** 46 + 100)
        await tx.run('insert into duty_short_spans (id, data) select id, data from duty_days where id < ?', 2 ** 46 + 7)
      })
      const second = await snapshot()
      await moveStores(second, () => {}, never)
      const [, , { source } = assert.fail()] = second
      assert.deepEqual(await contents(target.duties, source), await contents(source, source))
      assert.equal((await target.duties.all('select id from duty_days')).length, 100)
      await close(...[...first, ...second].map((one) => one.source))
    })

    test('duties that are in use are not changed, nor is the state next to them', async () => {
      await using dataFolder = await createDataFolder()
      const { live, snapshot, target, serve, close } = await openBoth(dataFolder)
      await live.state.write((tx) => fill(tx, 'one', 3))
      const moves = await snapshot()
      await target.duties.write((tx) => addCoverage(tx, 'duties/mainnet', 0, 5))
      await assert.rejects(
        moveStores(moves, () => {}, never),
        /contains other data; use an empty database/,
      )
      const stores = await serve()
      assert.deepEqual(await stores.state.all('select id from fx_quotes'), [])
      await stores.close()
      await target.duties.write((tx) => tx.run('delete from coverage'))
      await moveStores(moves, () => {}, never)
      await target.duties.write((tx) => addCoverage(tx, 'duties/mainnet', 0, 5))
      await assert.rejects(
        moveStores(moves, () => {}, never),
        /has been used since the last move/,
      )
      await close(...moves.map(({ source }) => source))
    })
  })

  test('a target with other data, or one that is in use, is not changed', async () => {
    await using dataFolder = await createDataFolder()
    const live = await openState(dataFolder.dir)
    await live.write((tx) => fill(tx, 'one', 3))
    const snapshot = await dataFolder.snapshot(live)
    const url = await server.schema()
    const target = await openState(dataFolder.dir, { state: url })
    await target.write((tx) => moveCursor(tx, 'somebody', 1))
    await assert.rejects(
      moveStores([{ source: snapshot, target }], () => {}, never),
      /contains other data; use an empty database/,
    )
    await target.write((tx) => tx.run('delete from cursors'))
    await moveStores([{ source: snapshot, target }], () => {}, never)
    // Opening the target does not count as use; writing does.
    await target.close()
    const again = await openState(dataFolder.dir, { state: url })
    await moveStores([{ source: snapshot, target: again }], () => {}, never)
    await again.write((tx) => tx.run("insert into cursors (stream, at) values ('new', 1)"))
    await assert.rejects(
      moveStores([{ source: snapshot, target: again }], () => {}, never),
      /has been used since the last move/,
    )
    assert.deepEqual(await again.get("select at from cursors where stream = 'new'"), { at: 1 })
    for (const state of [snapshot, live, again]) await state.close()
  })
})
