import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import files, { copyFile, mkdir, mkdtemp, open, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'node:test'
import { promisify } from 'node:util'
import { nextEventLoopTurn } from '#runtime/clock.ts'
import { copyStores as copyWith, manifestName, verifyBackup } from './backup.ts'
import { openStores, type Stores } from './open.ts'
import { restoreBackup } from './restore.ts'
import { rowCounts, sealBackup } from './seal-backup.ts'
import { openSnapshot } from './sqlite/copy.ts'
import type { State } from './state.ts'

const madeAtMs = Date.UTC(2026, 10, 15)

async function createFolders() {
  const dir = await mkdtemp(join(tmpdir(), 'tetrad-backup-'))
  return {
    dir,
    data: join(dir, 'data'),
    copy: join(dir, 'copy'),
    again: join(dir, 'again'),
    [Symbol.asyncDispose]: () => rm(dir, { recursive: true, force: true }),
  }
}

const names = ['state', 'ingest', 'duties'] as const
type Written = Pick<Stores, (typeof names)[number]>

const copyStores = (dataDir: string, { ingest }: Written, target: string): Promise<void> =>
  copyWith(dataDir, ingest, target)

const addStep = (database: State, count: number): Promise<number> =>
  database.write((tx) => tx.run('insert into cursors (stream, at) values (?, ?)', `step ${count}`, count))

/** Writes the same number to all databases, one after another: a copy of one moment never has a later write alone. */
async function step(stores: Written, count: number, order: readonly (keyof Written)[] = names): Promise<void> {
  for (const name of order) await addStep(stores[name], count)
}

const countSteps = async (database: State): Promise<number> =>
  (await database.get<{ count: number }>(`select count(*) as count from cursors where stream like 'step %'`))?.count ??
  0

const steps = async ({ state, ingest, duties }: Written) => ({
  state: await countSteps(state),
  ingest: await countSteps(ingest),
  duties: await countSteps(duties),
})

describe('backup', () => {
  for (const order of [names, names.toReversed()]) {
    test(`a copy made during writes to ${order.join(', ')} is of one moment and restores to the same rows`, async () => {
      await using folders = await createFolders()
      const stores = await openStores(folders.data)
      for (const name of names) await fill(stores[name])
      let count = 0
      let isDone = false
      const writing = (async () => {
        while (!isDone) {
          await step(stores, count++, order)
          await nextEventLoopTurn()
        }
      })()
      while (count < 20) await new Promise((resolve) => setTimeout(resolve, 1))
      const before = count
      await copyStores(folders.data, stores, folders.copy)
      const after = count
      while (count < after + 5) await new Promise((resolve) => setTimeout(resolve, 1))
      isDone = true
      await writing
      assert.deepEqual(await steps(stores), { state: count, ingest: count, duties: count })
      await stores.close()

      const manifest = await sealBackup(folders.copy, madeAtMs, '1.2.3')
      assert.deepEqual([manifest.version, manifest.madeAt], ['1.2.3', '2026-11-15T00:00:00.000Z'])
      assert.deepEqual(await restoreBackup(folders.copy, folders.again), manifest)
      const restored = await openStores(folders.again)
      const found = await steps(restored)
      const [first, second, last] = order.map((name) => found[name]) as [number, number, number]
      // The writer was before the first of the three writes, or between two of them.
      assert.ok(first >= second && second >= last && last >= first - 1, JSON.stringify(found))
      assert.ok(first >= before - 1 && first <= after + 1, `${before} ${first} ${after}`)
      assert.deepEqual(await rowCounts(restored), manifest.rows)
      await restored.close()
    })
  }

  test('the folder stays locked after it was copied', async () => {
    await using folders = await createFolders()
    const stores = await openStores(folders.data)
    await copyStores(folders.data, stores, folders.copy)
    const script = `import('${new URL('./open.ts', import.meta.url).href}').then(({ openStores }) => openStores('${folders.data}'))`
    const second = promisify(execFile)(process.execPath, ['--eval', script])
    await assert.rejects(second, /is in use by another process/)
    await stores.close()
  })

  test('no file is written until the snapshots of all files are open', async () => {
    await using folders = await createFolders()
    const stores = await openStores(folders.data)
    await step(stores, 0)
    // A separate connection, as in another process, keeps the backup waiting for the state.
    using other = new DatabaseSync(join(folders.data, 'state.sqlite'), { timeout: 0 })
    other.exec(`begin immediate; insert into cursors (stream, at) values ('step 1', 1)`)
    const copying = copyStores(folders.data, stores, folders.copy)
    await until('duties and ingest are locked', () =>
      ['duties', 'ingest'].every((name) => isHeld(join(folders.data, `${name}.sqlite`))),
    )
    const later = [addStep(stores.ingest, 1), addStep(stores.duties, 1)]
    other.exec('commit')
    await copying
    await Promise.all(later)
    assert.deepEqual(await steps(stores), { state: 2, ingest: 2, duties: 2 })
    await stores.close()
    await sealBackup(folders.copy, madeAtMs, '1')
    const copy = await openStores(folders.copy)
    assert.deepEqual(await steps(copy), { state: 2, ingest: 1, duties: 1 })
    await copy.close()
  })

  test('writes continue while a snapshot is copied, and are not in it', async () => {
    await using folders = await createFolders()
    const stores = await openStores(folders.data)
    await step(stores, 0)
    using snapshot = openSnapshot(join(folders.data, 'ingest.sqlite'))
    await addStep(stores.ingest, 1)
    await mkdir(folders.copy)
    await snapshot.copyTo(join(folders.copy, 'ingest.sqlite'))
    await addStep(stores.ingest, 2)
    await stores.close()
    using copy = new DatabaseSync(join(folders.copy, 'ingest.sqlite'))
    assert.deepEqual(
      copy
        .prepare('select at from cursors')
        .all()
        .map(({ at }) => at),
      [0],
    )
  })

  test('committed data in the WAL file is copied', async () => {
    await using folders = await createFolders()
    const stores = await openStores(folders.data)
    await step(stores, 0)
    assert.ok((await stat(join(folders.data, 'duties.sqlite-wal'))).size > 0)
    await copyStores(folders.data, stores, folders.copy)
    await stores.close()
    const { rows } = await sealBackup(folders.copy, madeAtMs, '1')
    assert.deepEqual([rows.state.cursors, rows.ingest.cursors, rows.duties.cursors], [1, 1, 1])
  })

  test('a failed copy leaves the folder empty, so that it can be used again', async () => {
    await using folders = await createFolders()
    const stores = await openStores(folders.data)
    const half = join(folders.dir, 'half')
    await mkdir(half)
    for (const name of ['state.sqlite', 'ingest.sqlite']) await copyFile(join(folders.data, name), join(half, name))
    // A folder instead of the duties file cannot be copied.
    await mkdir(join(half, 'duties.sqlite'))
    await assert.rejects(copyStores(half, stores, folders.copy), /duties\.sqlite cannot be/)
    assert.deepEqual(await readdir(folders.copy), [])
    await copyStores(folders.data, stores, folders.copy)
    await stores.close()
  })

  test('only the owner can read a backup', async () => {
    await using folders = await createFolders()
    await made(folders)
    assert.equal((await stat(folders.copy)).mode & 0o777, 0o700)
    for (const name of ['state.sqlite', 'ingest.sqlite', 'duties.sqlite', manifestName])
      assert.equal((await stat(join(folders.copy, name))).mode & 0o777, 0o600, name)
  })

  test('a manifest that was there before is kept, even if no file can be opened', async (t) => {
    await using folders = await createFolders()
    await made(folders)
    const before = await readFile(join(folders.copy, manifestName), 'utf8')
    const refuse = async () => {
      throw Object.assign(new Error('EMFILE: too many open files'), { code: 'EMFILE' })
    }
    const refused = [t.mock.method(files, 'open', refuse), t.mock.method(files, 'writeFile', refuse)]
    syncBuiltinESMExports()
    try {
      await assert.rejects(sealBackup(folders.copy, madeAtMs, '1'), { code: 'EMFILE' })
    } finally {
      for (const { mock } of refused) mock.restore()
      syncBuiltinESMExports()
    }
    assert.equal(await readFile(join(folders.copy, manifestName), 'utf8'), before)
  })

  test('nothing is written to a folder that is not empty', async () => {
    await using folders = await createFolders()
    await mkdir(folders.copy)
    await writeFile(join(folders.copy, 'mine'), '')
    const stores = await openStores(folders.data)
    await assert.rejects(copyStores(folders.data, stores, folders.copy), /is not empty; choose a new folder/)
    await stores.close()
    await made({ ...folders, copy: folders.again })
    await assert.rejects(restoreBackup(folders.again, folders.copy), /is not empty; choose a new folder/)
  })
})

async function made({ data, copy }: { data: string; copy: string }): Promise<void> {
  const stores = await openStores(data)
  for (let count = 0; count < 50; count++) await step(stores, count)
  await copyStores(data, stores, copy)
  await stores.close()
  await sealBackup(copy, madeAtMs, '1')
}

describe('an incomplete backup is refused', () => {
  const damages: readonly (readonly [name: string, damage: (dir: string) => Promise<void>, words: RegExp])[] = [
    ['no manifest', (dir) => rm(join(dir, manifestName)), /not complete/],
    ['a file is missing', (dir) => rm(join(dir, 'ingest.sqlite')), /ingest\.sqlite is missing/],
    ['a file was cut', (dir) => cut(join(dir, 'state.sqlite')), /state\.sqlite has \d+ bytes, not \d+/],
    ['a byte was changed', (dir) => flip(join(dir, 'duties.sqlite')), /duties\.sqlite has changed since the backup/],
    ['the manifest is of another format', (dir) => changeManifest(dir, { format: 2 }), /is not valid \(format 2\)/],
    ['no row counts', (dir) => changeManifest(dir, { rows: undefined }), /is not valid \(no row counts of state\)/],
    ['no row counts of ingest', (dir) => changeManifest(dir, { rows: { state: {} } }), /\(no row counts of ingest\)/],
    [
      'fewer rows than counted',
      (dir) => changeManifest(dir, { rows: { state: {}, ingest: { cursors: 51 }, duties: {} } }),
      /ingest table cursors has 50 rows, not 51/,
    ],
  ]
  for (const [name, damage, words] of damages) {
    test(name, async () => {
      await using folders = await createFolders()
      await made(folders)
      await verifyBackup(folders.copy)
      await damage(folders.copy)
      await assert.rejects(restoreBackup(folders.copy, folders.again), words)
      // So that it can be used again.
      assert.deepEqual(await readdir(folders.again).catch(() => []), [])
    })
  }

  test('a copy of a broken state file is not sealed', async () => {
    await using folders = await createFolders()
    const stores = await openStores(folders.data)
    await stores.state.write(async (tx) => {
      for (let at = 0; at < 2000; at++)
        await tx.run('insert into cursors (stream, at) values (?, ?)', `stream ${at}`, at)
    })
    await copyStores(folders.data, stores, folders.copy)
    await stores.close()
    await flip(join(folders.copy, 'state.sqlite'))
    await assert.rejects(sealBackup(folders.copy, madeAtMs, '1'), /cannot be used/)
  })
})

/** So that copying takes longer than some writes. */
const fill = (database: State): Promise<number> =>
  database.write((tx) => tx.run(`insert into cursors (stream, at) values ('large' || hex(zeroblob(5000000)), 0)`))

async function until(event: string, isTrue: () => boolean): Promise<void> {
  for (let tries = 0; !isTrue(); tries++) {
    assert.ok(tries < 10_000, `did not happen: ${event}`)
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
}

function isHeld(file: string): boolean {
  using db = new DatabaseSync(file, { timeout: 0 })
  try {
    db.exec('begin immediate; rollback')
    return false
  } catch {
    return true
  }
}

async function cut(path: string): Promise<void> {
  await using file = await open(path, 'r+')
  await file.truncate((await file.stat()).size - 100)
}

/** A range in the middle, where there are rows. */
async function flip(path: string): Promise<void> {
  await using file = await open(path, 'r+')
  const { size } = await file.stat()
  await file.write(Buffer.alloc(8192, 0xa5), 0, 8192, Math.floor(size / 2 / 4096) * 4096)
}

async function changeManifest(dir: string, changes: object): Promise<void> {
  const path = join(dir, manifestName)
  await writeFile(path, JSON.stringify({ ...JSON.parse(await readFile(path, 'utf8')), ...changes }))
}
