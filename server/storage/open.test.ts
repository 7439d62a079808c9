import { strict as assert } from 'node:assert'
import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'node:test'
import { startControlServer } from '#runtime/control-socket.ts'
import { openSqlite } from '#test/open-database.ts'
import { testMigration } from '#test/upgrade-suite.ts'
import { moveCursor } from './coverage.ts'
import { lockFolder } from './folder-lock.ts'
import { dutiesMigrations, ingestFileMigrations } from './migrations.ts'
import { openDuties, openState, openStateAndIngest, openStores } from './open.ts'

async function createFolder(): Promise<{ dir: string } & AsyncDisposable> {
  const dir = await mkdtemp(join(tmpdir(), 'tetrad-open-'))
  return { dir, [Symbol.asyncDispose]: () => rm(dir, { recursive: true, force: true }) }
}

test('the data folder is created for its owner only, with three database files and a lock file', async () => {
  await using folder = await createFolder()
  const dir = join(folder.dir, 'deep', 'data')
  const stores = await openStores(dir)
  assert.equal((await stat(dir)).mode & 0o777, 0o700)
  await stores.close()
  assert.deepEqual((await readdir(dir)).sort(), ['duties.sqlite', 'ingest.sqlite', 'lock.sqlite', 'state.sqlite'])
})

test('openState works next to a running server, which keeps the folder locked', async () => {
  await using folder = await createFolder()
  const server = await openStores(folder.dir)
  const command = await openState(folder.dir)
  await command.write((tx) => tx.run("insert into cursors (stream, at) values ('blocks', 1)"))
  assert.deepEqual({ ...(await server.state.get('select at from cursors')) }, { at: 1 })
  await command.close()
  await assert.rejects(openStores(folder.dir), /is in use by another process/)
  await server.close()
})

test('if the duties cannot be opened, the other databases and the lock are released', async () => {
  await using folder = await createFolder()
  await writeFile(join(folder.dir, 'duties.sqlite'), 'not a database')
  // Twice: the first failure must release the lock.
  for (let tries = 0; tries < 2; tries++)
    await assert.rejects(openStores(folder.dir), /duties\.sqlite is not a database/)
  // The last connection deletes the WAL file when it closes.
  assert.deepEqual((await readdir(folder.dir)).sort(), [
    'duties.sqlite',
    'ingest.sqlite',
    'lock.sqlite',
    'state.sqlite',
  ])
})

test('duties stay in the WAL file longer than the state, and their statement journals in memory', async () => {
  await using folder = await createFolder()
  const stores = await openStores(folder.dir)
  const walBytes = async (name: string) => (await stat(join(folder.dir, `${name}.sqlite-wal`))).size
  const scores = 'x'.repeat(2 ** 22)
  for (const store of [stores.state, stores.duties])
    await store.write((tx) => tx.run('create table big (epoch integer, scores text)'))
  for (let epoch = 0; epoch < 4; epoch++) {
    await stores.state.write((tx) => tx.run('insert into big values (?, ?)', epoch, scores))
    await stores.duties.write((tx) => tx.run('insert into big values (?, ?)', epoch, scores))
  }
  assert.ok((await walBytes('state')) < 2 * scores.length)
  assert.ok((await walBytes('duties')) > 4 * scores.length)
  const memory = 2
  assert.deepEqual(await stores.duties.write((tx) => tx.get('pragma temp_store')), { temp_store: memory })
  await stores.close()
})

test('the error names a data folder that cannot be created', async () => {
  await using folder = await createFolder()
  await writeFile(join(folder.dir, 'file'), '')
  const dir = join(folder.dir, 'file', 'data')
  await assert.rejects(openStores(dir), (error: Error) =>
    error.message.includes(`the data folder ${dir} cannot be created`),
  )
})

for (const database of ['state', 'duties'] as const)
  test(`openStores refuses a folder with an unfinished move of its ${database}`, async () => {
    await using folder = await createFolder()
    const stores = await openStores(folder.dir)
    await stores[database].write((tx) => moveCursor(tx, 'move/unfinished', 1))
    await stores.close()
    // Twice: the first failure must close the files.
    for (let tries = 0; tries < 2; tries++)
      await assert.rejects(openStores(folder.dir), /the move to this database is not complete/)
    await (await openState(folder.dir)).close()
    await (await openDuties(folder.dir)).close()
  })

describe('an upgrade', () => {
  const laterIngest = [...ingestFileMigrations, testMigration]
  const stateFile = (dir: string) => join(dir, 'state.sqlite')
  const ingestFile = (dir: string) => join(dir, 'ingest.sqlite')
  const dutiesFile = (dir: string) => join(dir, 'duties.sqlite')
  const openLaterStores = (dir: string) => openStores(dir, {}, { ingest: laterIngest })
  const openLaterState = (dir: string) => openStateAndIngest(dir, {}, { ingest: laterIngest })

  /** A data folder of the previous version. */
  async function createEarlierFolder() {
    const folder = await createFolder()
    await (await openStores(folder.dir)).close()
    return folder
  }

  /** The number of the newest migration of `ingest.sqlite`. */
  function versionOf(dir: string): number {
    using file = new DatabaseSync(ingestFile(dir))
    return file.prepare('select max(id) as id from migrations').get()?.id as number
  }
  const [unchanged, upgraded] = [ingestFileMigrations.length, laterIngest.length]

  test('that is refused because another process has locked the folder does not change the state', async () => {
    await using folder = await createEarlierFolder()
    const running = lockFolder(folder.dir)
    // Also for a command, if the server has no socket.
    for (const open of [openLaterStores, openLaterState])
      await assert.rejects(open(folder.dir), /is in use by another process/)
    running[Symbol.dispose]()
    assert.equal(versionOf(folder.dir), unchanged)
  })

  test('that is refused because one database is newer does not change the other', async () => {
    await using folder = await createEarlierFolder()
    const newer = { id: dutiesMigrations.length + 1, name: 'next', up: () => ['create table next (a integer)'] }
    await (await openSqlite(dutiesFile(folder.dir), [...dutiesMigrations, newer], { busyWaitMs: 5000 })).close()
    await assert.rejects(openLaterStores(folder.dir), /duties\.sqlite was written by a newer version/)
    assert.equal(versionOf(folder.dir), unchanged)
  })

  test('that is refused because of an unfinished move does not change the state', async () => {
    await using folder = await createEarlierFolder()
    const state = await openState(folder.dir)
    await state.write((tx) => moveCursor(tx, 'move/unfinished', 1))
    await state.close()
    await assert.rejects(openLaterStores(folder.dir), /the move to this database is not complete/)
    assert.equal(versionOf(folder.dir), unchanged)
  })

  test('is refused while a server runs on the folder, for servers and commands', async () => {
    await using folder = await createEarlierFolder()
    const control = await startControlServer(folder.dir, {})
    for (const open of [openLaterStores, openLaterState])
      await assert.rejects(open(folder.dir), /of an earlier version and a server is running on .*; stop/)
    await control.close()
    assert.equal(versionOf(folder.dir), unchanged)
    // The socket of a killed server.
    await writeFile(join(folder.dir, 'control.sock'), '')
    await (await openLaterState(folder.dir)).close()
    await (await openLaterStores(folder.dir)).close()
    assert.equal(versionOf(folder.dir), upgraded)
    // Without an upgrade, a running server does not matter.
    await rm(join(folder.dir, 'control.sock'))
    const again = await startControlServer(folder.dir, {})
    await (await openLaterState(folder.dir)).close()
    await again.close()
  })

  test('from a development version is refused with advice, for servers and commands', async () => {
    await using folder = await createFolder()
    const old = [{ id: 1, name: 'keys', up: () => ['create table keys (id text)'] }]
    await (await openSqlite(stateFile(folder.dir), old, { busyWaitMs: 5000 })).close()
    const message =
      `${stateFile(folder.dir)} cannot be opened because a development version from before the release of 0.1.0 wrote it, and its ` +
      'tables cannot be upgraded: use a new data folder or an empty database, then create keys and import labels and entities again'
    for (const open of [openStores, openState])
      await assert.rejects(open(folder.dir), (error: Error) => error.message.includes(message))
    assert.deepEqual((await readdir(folder.dir)).sort(), ['lock.sqlite', 'state.sqlite'])
  })
})
