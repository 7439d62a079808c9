import { strict as assert } from 'node:assert'
import { mkdir, mkdtemp, open, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { faults } from '#api/contract/faults.ts'
import { Fault } from '#core/fault.ts'
import { nextEventLoopTurn } from '#runtime/clock.ts'
import type { WorkerThread } from '#runtime/worker-thread.ts'
import { countLoopTurns } from '#test/event-loop-turns.ts'
import { openSqlite } from '#test/open-database.ts'
import { startProcess } from '#test/second-process.ts'
import { type StoreLocation, tables, writeInGroup } from '#test/state-suite/store-location.ts'
import { stateSuite } from '#test/state-suite.ts'
import { laterMigrations, upgradeSuite } from '#test/upgrade-suite.ts'
import { stateMigrations } from '../migrations.ts'
import { createCheckpointer, openCheckpointThread, pagesMax } from './checkpointer.ts'
import { Connection, statementsMax } from './connection.ts'

interface SqliteLocation extends StoreLocation {
  readonly file: string
}

async function createLocation(): Promise<SqliteLocation> {
  const dir = await mkdtemp(join(tmpdir(), 'tetrad-sqlite-'))
  const file = join(dir, 'state.sqlite')
  return {
    file,
    open: (migrations = [tables]) => openSqlite(file, migrations, { busyWaitMs: 5000 }),
    [Symbol.asyncDispose]: () => rm(dir, { recursive: true, force: true }),
  }
}

stateSuite('sqlite', createLocation)
upgradeSuite('sqlite', createLocation)

test('prepared statements are cached up to a limit, and all return correct rows', async () => {
  await using location = await createLocation()
  const connection = Connection.open(location.file, 'write')
  for (let round = 0; round < 2; round += 1) {
    for (let number = 0; number < statementsMax * 2; number += 1) {
      assert.deepEqual(connection.get(`select ${number} as n`, []), { n: number })
      assert(connection.preparedCount <= statementsMax)
    }
  }
  connection.close()
})

test('readers of a large database keep 16 MiB of its pages in memory', async () => {
  await using location = await createLocation()
  const state = await openSqlite(location.file, [], { busyWaitMs: 5000, isBulk: true })
  const expected = { cache_size: -16 * 1024 }
  assert.deepEqual(await state.get('pragma cache_size'), expected)
  assert.deepEqual(await state.snapshot((reader) => reader.get('pragma cache_size')), expected)
  await state.close()
})

test('a long iteration yields to the event loop every 250 rows', async () => {
  await using location = await createLocation()
  const state = await openSqlite(location.file, [], { busyWaitMs: 5000 })
  const numbers = `with recursive n (i) as (select 1 union all select i + 1 from n where i < 2000) select i from n`
  const { result, turns } = await countLoopTurns(() => Array.fromAsync(state.each(numbers)))
  assert.equal(result.length, 2000)
  assert.ok(turns >= 2000 / 250, `${turns} turns`)
  await state.close()
})

test('in a server, commits leave pages in the WAL, and one thread copies them to their files', async () => {
  const thread = openCheckpointThread()
  const before = threadsStarted
  // The thread is the same for both files.
  for (const _ of ['state', 'ingest']) await testCheckpoints(thread)
  assert.equal(threadsStarted - before, 1)
  await thread.close()
})

let threadsStarted = 0
process.on('worker', () => {
  threadsStarted += 1
})

async function testCheckpoints(checkpointThread: WorkerThread): Promise<void> {
  await using location = await createLocation()
  const state = await openSqlite(location.file, [], { busyWaitMs: 5000, checkpointThread })
  await state.write((tx) => tx.run('create table pages (id bigint primary key, bytes blob)'))
  const limit = await state.write((tx) => tx.get<{ wal_autocheckpoint: number }>('pragma wal_autocheckpoint'))
  assert.deepEqual(limit, { wal_autocheckpoint: pagesMax })
  const reader = Connection.open(location.file, 'read')
  for (const round of [1, 2]) {
    await state.write(async (tx) => {
      for (let id = 0; id < 1200; id++) {
        await tx.run('insert into pages (id, bytes) values (?, ?)', round * 10_000 + id, new Uint8Array(4096))
      }
    })
    // An open read can prevent the thread from copying everything, so it is asked again with the next commit.
    while (reader.countWalPages() >= 1000) {
      await state.write(async () => {})
      await nextEventLoopTurn()
    }
  }
  reader.close()
  await state.close()
  await assert.rejects(stat(`${location.file}-wal`), { code: 'ENOENT' })
  const again = await openSqlite(location.file, [], { busyWaitMs: 5000 })
  assert.deepEqual(await again.get('select count(*) as n from pages'), { n: 2400 })
  await again.close()
}

test('a commit succeeds even if the size of the WAL cannot be read (checkpointer.ts, 3)', async () => {
  await using location = await createLocation()
  const connection = Connection.open(location.file, 'write')
  connection.close()
  assert.throws(() => connection.countWalPages())
  const thread = openCheckpointThread()
  const checkpointer = createCheckpointer(location.file, thread)
  checkpointer.afterCommit(connection)
  await checkpointer.close()
  await thread.close()
})

test('a row keeps the names of its columns when another process adds one to the table', async () => {
  await using location = await createLocation()
  const connection = Connection.open(location.file, 'write')
  const other = Connection.open(location.file, 'write')
  other.run('create table pairs (a text, b text)')
  other.run('create table ends (c text)')
  other.run(`insert into pairs values ('a', 'b')`)
  other.run(`insert into ends values ('c')`)
  const star = 'select pairs.*, c from pairs, ends'
  const written = 'select b, a, c as "the end" from pairs, ends'
  assert.deepEqual(connection.all(star, []), [{ a: 'a', b: 'b', c: 'c' }])
  other.run('alter table pairs add column d text')
  assert.deepEqual(connection.all(star, []), [{ a: 'a', b: 'b', d: null, c: 'c' }])
  assert.deepEqual(connection.get(written, []), { b: 'b', a: 'a', 'the end': 'c' })
  connection.close()
  other.close()
})

/** The detail names the file and what to do; the public message is that of the table. */
const unavailable =
  (file: string, message: RegExp) =>
  (error: unknown): boolean => {
    assert(error instanceof Fault, String(error))
    assert.equal(error.code, 'store.unavailable')
    assert(error.message.includes(file), error.message)
    assert.match(error.message, message)
    assert.equal(error.publicMessage, faults['store.unavailable'].message)
    return true
  }

const impatient = { busyWaitMs: 50 }
const add = 'insert into counters (name, value) values (?, ?)'

const otherProcess = (file: string, code: string) =>
  startProcess(`
    const { DatabaseSync } = await import('node:sqlite')
    const db = new DatabaseSync(${JSON.stringify(file)}, { timeout: 5000 })
    ${code}
  `)

describe('sqlite with another process', () => {
  test('a write gets its turn beside a connection that writes all the time', async () => {
    await using location = await createLocation()
    const state = await location.open()
    const other = await openSqlite(location.file, [tables], { busyWaitMs: 5000, leavesPauses: true })
    let isOver = false
    const writing = (async () => {
      while (!isOver) await other.write(() => nextEventLoopTurn())
    })()
    await state
      .write((tx) => tx.run(add, 'ours', 1))
      .finally(() => {
        isOver = true
      })
    await writing
    await Promise.all([state.close(), other.close()])
  })

  test('its commits are visible at once, and the version changes', async () => {
    await using location = await createLocation()
    const state = await location.open()
    const before = state.version()
    await using other = otherProcess(
      location.file,
      `db.exec("insert into counters values ('theirs', 7)"); print('done')`,
    )
    assert.equal(await other.line(), 'done')
    assert.notEqual(state.version(), before)
    assert.deepEqual(await state.get('select value from counters'), { value: 7 })
    await state.close()
  })

  test('while it writes, a write waits and then succeeds; reads continue', async () => {
    await using location = await createLocation()
    const state = await location.open()
    const released = `${location.file}.released`
    await using other = otherProcess(
      location.file,
      `const { existsSync } = await import('node:fs')
       db.exec('begin immediate'); db.exec("insert into counters values ('theirs', 7)"); print('holding')
       const commit = () => { clearInterval(waiting); db.exec('commit') }
       const waiting = setInterval(() => existsSync(${JSON.stringify(released)}) && commit(), 10)`,
    )
    assert.equal(await other.line(), 'holding')
    const ours = state.write((tx) => tx.run(add, 'ours', 1))
    assert.deepEqual(await state.all('select * from counters'), [])
    await writeFile(released, '')
    await ours
    assert.deepEqual(await state.all('select name from counters order by name'), [{ name: 'ours' }, { name: 'theirs' }])
    await state.close()
  })

  test('a lock that is not released is a fault with the file, for writes and migrations', async () => {
    await using location = await createLocation()
    await (await location.open()).close()
    const state = await openSqlite(location.file, [tables], impatient)
    await using other = otherProcess(location.file, `db.exec('begin immediate'); print('holding'); stay()`)
    assert.equal(await other.line(), 'holding')
    const held = unavailable(location.file, /locked by another process; stop it or wait/)
    await assert.rejects(
      state.write((tx) => tx.run(add, 'a', 1)),
      held,
    )
    const more = { id: 2, name: 'more', up: () => ['create table more (n bigint)'] }
    await assert.rejects(openSqlite(location.file, [tables, more], impatient), held)
    await other.kill()
    await state.write((tx) => tx.run(add, 'a', 1))
    await state.close()
  })

  test('while it writes, a file that is up to date opens at once', async () => {
    await using location = await createLocation()
    await (await location.open()).close()
    await using other = otherProcess(location.file, `db.exec('begin immediate'); print('holding'); stay()`)
    assert.equal(await other.line(), 'holding')
    const state = await openSqlite(location.file, [tables], impatient)
    assert.deepEqual(await state.all('select * from counters'), [])
    await state.close()
  })

  test('while it writes, grouped writes wait and then all succeed', async () => {
    await using location = await createLocation()
    const state = await location.open()
    await using other = otherProcess(
      location.file,
      `db.exec('begin immediate'); print('holding')
       setTimeout(() => { db.exec('commit'); print('let go') }, 100)`,
    )
    assert.equal(await other.line(), 'holding')
    await Promise.all(['a', 'b', 'c'].map((name) => writeInGroup(state, (tx) => tx.run(add, name, 1))))
    assert.deepEqual(await state.get('select count(*) as n from counters'), { n: 3 })
    await state.close()
  })

  test('an exclusive lock is a fault with the file', async () => {
    await using location = await createLocation()
    await (await location.open()).close()
    await using other = otherProcess(
      location.file,
      `db.exec('pragma locking_mode = exclusive; begin exclusive'); print('holding'); stay()`,
    )
    assert.equal(await other.line(), 'holding')
    await assert.rejects(
      openSqlite(location.file, [tables], impatient),
      unavailable(location.file, /locked by another process/),
    )
  })

  test('killed during a transaction: confirmed data is there, the rest is not', async () => {
    await using location = await createLocation()
    await using other = startProcess(`
      const { openSqlite } = await load('test/open-database.ts')
      const { tables } = await load('test/state-suite/store-location.ts')
      const state = await openSqlite(${JSON.stringify(location.file)}, [tables], { busyWaitMs: 5000 })
      await state.write((tx) => tx.run("insert into counters values ('confirmed', 1)"))
      await state.write(async (tx) => {
        for (let count = 0; count < 50000; count += 1) await tx.run('insert into things (id) values (?)', count)
        print('in the middle')
        await new Promise(stay)
      })
    `)
    assert.equal(await other.line(), 'in the middle')
    await other.kill()
    const state = await location.open()
    assert.deepEqual(await state.all('select name from counters'), [{ name: 'confirmed' }])
    assert.deepEqual(await state.get('select count(*) as n from things'), { n: 0 })
    assert.deepEqual(await state.get('pragma integrity_check'), { integrity_check: 'ok' })
    await state.close()
  })
})

test('sqlite: a migration that was killed has no effect, and the next start applies it', async () => {
  await using location = await createLocation()
  const state = await location.open(stateMigrations)
  await state.write((tx) => tx.run("insert into cursors (stream, at) values ('blocks', 7)"))
  await state.close()
  await using other = startProcess(`
    const { DatabaseSync } = await import('node:sqlite')
    const { openSqlite } = await load('test/open-database.ts')
    const { laterMigrations } = await load('test/upgrade-suite.ts')
    const { prepare } = DatabaseSync.prototype
    DatabaseSync.prototype.prepare = function (sql, ...rest) {
      if (sql.startsWith('update cursors set twice')) {
        print('in the middle')
        process.kill(process.pid, 'SIGKILL')
      }
      return prepare.call(this, sql, ...rest)
    }
    await openSqlite(${JSON.stringify(location.file)}, laterMigrations, { busyWaitMs: 5000 })
    print('migrated')
  `)
  assert.deepEqual([await other.line(), await other.line()], ['in the middle', undefined])
  const before = await location.open(stateMigrations)
  assert.deepEqual(await before.all('select * from cursors'), [{ stream: 'blocks', at: 7 }])
  await before.close()
  const after = await location.open(laterMigrations)
  assert.deepEqual(await after.all('select * from cursors'), [{ stream: 'blocks', at: 7, twice: 14 }])
  await after.close()
})

describe('sqlite on a bad disk', () => {
  test('a full disk is a fault, the transaction has no effect, and later writes work', async () => {
    await using location = await createLocation()
    const state = await location.open()
    await state.write((tx) => tx.run(add, 'confirmed', 1))
    const fill = state.write(async (tx) => {
      await tx.all('pragma max_page_count = 64')
      for (let id = 0; ; id += 1) await tx.run('insert into things values (?, ?, null)', id, 'x'.repeat(1000))
    })
    await assert.rejects(fill, unavailable(location.file, /disk is full; free space/))
    assert.deepEqual(await state.get('select count(*) as n from things'), { n: 0 })
    await state.write((tx) => tx.run(add, 'later', 1))
    assert.deepEqual(await state.get('select count(*) as n from counters'), { n: 2 })
    await state.close()
  })

  test('a full disk fails all grouped writes, and later writes work', async () => {
    await using location = await createLocation()
    const state = await location.open()
    const before = writeInGroup(state, (tx) => tx.run(add, 'before', 1))
    const fill = writeInGroup(state, async (tx) => {
      await tx.all('pragma max_page_count = 64')
      for (let id = 0; ; id += 1) await tx.run('insert into things values (?, ?, null)', id, 'x'.repeat(1000))
    })
    const outcomes = await Promise.allSettled([before, fill])
    for (const outcome of outcomes) {
      assert(outcome.status === 'rejected')
      assert(unavailable(location.file, /disk is full; free space/)(outcome.reason))
    }
    assert.deepEqual(await state.all('select name from counters'), [])
    await writeInGroup(state, (tx) => tx.run(add, 'later', 1))
    assert.deepEqual(await state.all('select name from counters'), [{ name: 'later' }])
    await state.close()
  })

  test('a file that is not a database is refused and not changed', async () => {
    await using location = await createLocation()
    const words = 'These are somebody’s notes, not a database. '.repeat(500)
    await writeFile(location.file, words)
    await assert.rejects(location.open(), unavailable(location.file, /is not a database or is damaged; move it away/))
    assert.equal(await readFile(location.file, 'utf8'), words)
  })

  test('a damaged page is a fault', async () => {
    await using location = await createLocation()
    const state = await location.open()
    await state.write(async (tx) => {
      for (let id = 0; id < 2000; id += 1) await tx.run('insert into things values (?, ?, null)', id, 'x'.repeat(100))
    })
    await state.close()
    await using file = await open(location.file, 'r+')
    await file.write(Buffer.alloc(40_000, 0xaa), 0, 40_000, 40_960)
    const damaged = await location.open()
    await assert.rejects(damaged.all('select * from things'), unavailable(location.file, /damaged; stop the server/))
    await damaged.close()
  })

  test('a read-only file is a fault', async () => {
    await using location = await createLocation()
    const state = await location.open()
    const work = state.write(async (tx) => {
      await tx.run('pragma query_only = on')
      await tx.run(add, 'a', 1)
    })
    await assert.rejects(work, unavailable(location.file, /cannot be written; check the permissions/))
    await state.close()
  })

  test('a folder instead of the file, or a missing folder, is a fault', async () => {
    await using location = await createLocation()
    await mkdir(location.file)
    await assert.rejects(location.open(), unavailable(location.file, /cannot be opened; check that its folder/))
    const nowhere = join(location.file, 'missing', 'state.sqlite')
    await assert.rejects(openSqlite(nowhere, [tables], impatient), unavailable(nowhere, /cannot be opened/))
  })
})
