import assert from 'node:assert/strict'
import files, { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { startProcess } from '#test/second-process.ts'
import { copyStores } from './backup.ts'
import { moveCursor } from './coverage.ts'
import { openDuties, openState, openStores } from './open.ts'
import { restoreBackup } from './restore.ts'
import { sealBackup } from './seal-backup.ts'

const unfinished = /a restore into .* has not finished; run `tetrad restore` again/

/** Restores in another process, which kills itself before the given file operation. If that copies a file, a part is there. */
const restoreAndDie = (source: string, dataDir: string, operation: number) =>
  startProcess(`
    const { default: files } = await import('node:fs/promises')
    const { syncBuiltinESMExports } = await import('node:module')
    const { restoreBackup } = await load('server/storage/restore.ts')
    let operations = 0
    for (const name of ['copyFile', 'chmod', 'mkdir', 'rename', 'rm', 'rmdir', 'stat']) {
      const original = files[name]
      files[name] = async (...args) => {
        operations += 1
        if (operations === ${operation}) {
          if (name === 'copyFile') await files.writeFile(args[1], (await files.readFile(args[0])).subarray(0, 5000))
          process.kill(process.pid, 'SIGKILL')
        }
        return original(...args)
      }
    }
    syncBuiltinESMExports()
    await restoreBackup(${JSON.stringify(source)}, ${JSON.stringify(dataDir)})
    print('restored')`)

describe('restore', () => {
  let dir: string
  let backup: string
  before(async () => {
    dir = await mkdtemp(join(tmpdir(), 'tetrad-restore-'))
    backup = join(dir, 'backup')
    const stores = await openStores(join(dir, 'data'))
    for (const database of [stores.state, stores.ingest, stores.duties])
      await database.write((tx) => moveCursor(tx, 'restored', 7))
    await copyStores(join(dir, 'data'), stores.ingest, backup)
    await stores.close()
    await sealBackup(backup, Date.UTC(2026, 10, 15), '1')
  })
  after(() => rm(dir, { recursive: true, force: true }))

  async function assertComplete(dataDir: string): Promise<void> {
    const stores = await openStores(dataDir)
    for (const database of [stores.state, stores.ingest, stores.duties])
      assert.deepEqual(await database.get('select at from cursors'), { at: 7 })
    await stores.close()
  }

  test('a killed restore is refused by everything that opens the folder, and can be repeated', async () => {
    let refused = 0
    for (let operation = 1; ; operation++) {
      const target = join(dir, `killed-${operation}`)
      await using killed = restoreAndDie(backup, target, operation)
      if ((await killed.line()) === 'restored') break
      assert.ok(operation < 100, 'the restore never finished')
      const before = await readdir(target).catch(() => [])
      const isUntouched = before.every((name) => name.startsWith('lock.sqlite'))
      if (!isUntouched) {
        for (const open of [openState, openDuties, openStores])
          await assert.rejects(open(target), unfinished, `${operation}: ${before.join()}`)
        assert.deepEqual(await readdir(target), before)
        refused += 1
      }
      await restoreBackup(backup, target)
      await assertComplete(target)
    }
    assert.ok(refused > 5, `${refused} of the kills left an unfinished restore`)
  })

  test('every file is flushed to the disk before it gets its name, and its folder afterwards', async (t) => {
    const steps: string[] = []
    const { open, rename, rm: remove } = files
    const mocks = [
      t.mock.method(files, 'open', async (...args: Parameters<typeof open>) => {
        const file = await open(...args)
        const sync = file.sync.bind(file)
        file.sync = async () => {
          await sync()
          steps.push(`flush ${basename(String(args[0]))}`)
        }
        return file
      }),
      t.mock.method(files, 'rename', async (...args: Parameters<typeof rename>) => {
        steps.push(`name ${basename(String(args[1]))}`)
        return rename(...args)
      }),
      t.mock.method(files, 'rm', async (...args: Parameters<typeof remove>) => {
        if (basename(String(args[0])) === 'restoring') steps.push('finish')
        return remove(...args)
      }),
    ]
    syncBuiltinESMExports()
    try {
      await restoreBackup(backup, join(dir, 'flushed'))
    } finally {
      for (const { mock } of mocks) mock.restore()
      syncBuiltinESMExports()
    }
    assert.deepEqual(steps, [
      'flush flushed',
      'flush state.sqlite',
      'flush ingest.sqlite',
      'flush duties.sqlite',
      'name state.sqlite',
      'name ingest.sqlite',
      'name duties.sqlite',
      'flush flushed',
      'finish',
      'flush flushed',
    ])
  })

  test('of two restores into the same folder at the same time, one is refused', async () => {
    const target = join(dir, 'twice')
    const both = await Promise.allSettled([restoreBackup(backup, target), restoreBackup(backup, target)])
    const [refused, ...others] = both.filter((result) => result.status === 'rejected')
    assert.deepEqual(others, [])
    assert.match(String(refused?.reason), /is in use by another process|is not empty; choose a new folder/)
    await assertComplete(target)
  })

  test('only an unfinished restore is repeated: other files are kept', async () => {
    const target = join(dir, 'used')
    await (await openStores(target)).close()
    await writeFile(join(target, 'mine'), '')
    await assert.rejects(restoreBackup(backup, target), /is not empty; choose a new folder/)
    assert.deepEqual((await readdir(target)).sort(), [
      'duties.sqlite',
      'ingest.sqlite',
      'lock.sqlite',
      'mine',
      'state.sqlite',
    ])
  })
})
