import { strict as assert } from 'node:assert'
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { describe, test } from 'node:test'
import { testMigration } from '#test/upgrade-suite.ts'
import { verifyBackup } from './backup.ts'
import { cursorOf, moveCursor } from './coverage.ts'
import { ingestFileMigrations } from './migrations.ts'
import { openStateAndIngest, openStores } from './open.ts'
import { restoreBackup } from './restore.ts'
import { backUpBeforeUpgrade } from './upgrade-backup.ts'

const later = { ingest: [...ingestFileMigrations, testMigration] }

async function createFolder() {
  const dir = await mkdtemp(join(tmpdir(), 'tetrad-upgrade-'))
  return { dir: join(dir, 'data'), [Symbol.asyncDispose]: () => rm(dir, { recursive: true, force: true }) }
}

/** A data folder of the previous version with one row. */
async function createEarlierFolder() {
  const folder = await createFolder()
  const stores = await openStores(folder.dir)
  await stores.ingest.write((tx) => moveCursor(tx, 'kept', 7))
  await stores.close()
  return folder
}

describe('an upgrade of a data folder', () => {
  for (const [name, open] of [
    ['a server', openStores],
    ['a command', openStateAndIngest],
  ] as const)
    test(`by ${name} makes a backup that the earlier version restores, and reports where it is`, async () => {
      await using folder = await createEarlierFolder()
      const messages: string[] = []
      const options = { upgradeBackups: 2, onUpgrade: (message: string) => void messages.push(message) }
      await (await open(folder.dir, options, later)).close()
      const [backup = ''] = await readdir(join(folder.dir, 'upgrade-backups'))
      const place = join(folder.dir, 'upgrade-backups', backup)
      assert.deepEqual(messages, [`The data folder is upgraded now. A backup from before is in ${place}`])
      assert.equal((await verifyBackup(place)).rows.ingest.cursors, 1)
      const restored = join(folder.dir, 'restored')
      await restoreBackup(place, restored)
      const earlier = await openStores(restored)
      assert.equal(await cursorOf(earlier.ingest, 'kept'), 7)
      await earlier.close()
      await assert.rejects(openStores(folder.dir), /was written by a newer version/)
      await (await open(folder.dir, options, later)).close()
      assert.equal(messages.length, 1, 'nothing is left to upgrade')
    })

  test('makes none for a new folder, or if none is to be kept', async () => {
    await using folder = await createFolder()
    await (await openStores(folder.dir, { upgradeBackups: 2 })).close()
    await (await openStores(folder.dir, { upgradeBackups: 0 }, later)).close()
    assert.equal((await readdir(folder.dir)).includes('upgrade-backups'), false)
  })

  test('is refused if the backup fails, and changes nothing', async () => {
    await using folder = await createEarlierFolder()
    await writeFile(join(folder.dir, 'upgrade-backups'), 'a file')
    for (const open of [openStores, openStateAndIngest])
      await assert.rejects(
        open(folder.dir, { upgradeBackups: 2 }, later),
        /the backup before its upgrade failed: .+ Nothing was changed\. .+ set store\.upgradeBackups to 0/,
      )
    await (await openStores(folder.dir)).close()
  })

  test('is refused if there is no room for the backup', async () => {
    await using folder = await createEarlierFolder()
    const { ingest, ...stores } = await openStores(folder.dir)
    const backup = backUpBeforeUpgrade(folder.dir, ingest, 2, async () => 10_000_000)
    await assert.rejects(backup, /failed: it needs \d+ MB, but only 10 MB are free\. Nothing was changed/)
    await stores.close()
  })

  test('keeps the newest backups, and removes no other files', async () => {
    await using folder = await createEarlierFolder()
    const { ingest, ...stores } = await openStores(folder.dir)
    const places: string[] = []
    for (let round = 0; round < 3; round++) places.push(await backUpBeforeUpgrade(folder.dir, ingest, 2))
    await writeFile(join(folder.dir, 'upgrade-backups', 'notes.txt'), 'of the operator')
    places.push(await backUpBeforeUpgrade(folder.dir, ingest, 2))
    await stores.close()
    const kept = (await readdir(join(folder.dir, 'upgrade-backups'))).map((name) =>
      join(folder.dir, 'upgrade-backups', name),
    )
    assert.deepEqual(kept.sort(), [...places.slice(2), join(folder.dir, 'upgrade-backups', 'notes.txt')].sort())
  })

  test('keeps the new backup, even if the clock was ahead when an earlier one was made', async () => {
    await using folder = await createEarlierFolder()
    const { ingest, ...stores } = await openStores(folder.dir)
    await mkdir(join(folder.dir, 'upgrade-backups', '2099-01-01T00-00-00-000Z'), { recursive: true })
    const place = await backUpBeforeUpgrade(folder.dir, ingest, 1)
    await stores.close()
    assert.deepEqual(await readdir(join(folder.dir, 'upgrade-backups')), [basename(place)])
  })
})
