// Backs up the SQLite files of a data folder before their tables are changed, so that the operator can go back to the
// version that wrote them (behaviour/operations.md#migrations).
//
// 1. The copy is not migrated: the earlier version restores it.
// 2. It is inside the data folder, which is the only place that a service or a container can certainly write to.
// 3. If it fails, nothing has been changed, and the start fails.
import { readdir, rm, stat, statfs } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { errorMessage } from '#core/error-message.ts'
import { Fault } from '#core/fault.ts'
import { systemClock } from '#runtime/clock.ts'
import { copyStores, databaseFiles, sealEarlierBackup } from './backup.ts'
import type { State } from './state.ts'

const folderName = 'upgrade-backups'
const backupName = /^\d{4}-\d\d-\d\dT[\d-]+Z$/
/** Free space that a backup leaves. */
const reserveBytes = 64 * 1024 * 1024

/** Keeps the newest `keptCount` of these backups, and returns the folder of the new one. `ingest` is its open database. */
export async function backUpBeforeUpgrade(
  dataDir: string,
  ingest: State,
  keptCount: number,
  freeBytesOf = readFreeBytes,
): Promise<string> {
  const folder = join(resolve(dataDir), folderName)
  const madeAtMs = systemClock.now()
  const target = join(folder, new Date(madeAtMs).toISOString().replaceAll(/[:.]/g, '-'))
  try {
    await requireSpace(dataDir, await freeBytesOf(dataDir))
    await copyStores(dataDir, ingest, target)
    await sealEarlierBackup(target, madeAtMs)
  } catch (error) {
    await rm(target, { recursive: true, force: true }).catch(() => {})
    const reason = errorMessage(error)
    throw new Fault('store.unavailable', {
      detail:
        `${resolve(dataDir)} was written by an earlier version, and the backup before its upgrade failed: ${reason}. ` +
        'Nothing was changed. Solve the problem and start again. Or make a backup with the earlier version ' +
        '(`tetrad backup`) and set store.upgradeBackups to 0',
      cause: error,
    })
  }
  await removeOldest(folder, basename(target), keptCount)
  return target
}

async function readFreeBytes(dataDir: string): Promise<number> {
  const { bavail, bsize } = await statfs(dataDir)
  return bavail * bsize
}

async function requireSpace(dataDir: string, freeBytes: number): Promise<void> {
  const sizes = databaseFiles.flatMap((name) => [name, `${name}-wal`]).map((name) => sizeOf(join(dataDir, name)))
  const neededBytes = (await Promise.all(sizes)).reduce((sum, bytes) => sum + bytes, reserveBytes)
  if (freeBytes >= neededBytes) return
  throw new Error(`it needs ${inMegabytes(neededBytes)} MB, but only ${inMegabytes(freeBytes)} MB are free`)
}

const sizeOf = (path: string): Promise<number> =>
  stat(path).then(
    ({ size }) => size,
    () => 0,
  )

const inMegabytes = (bytes: number): number => Math.ceil(bytes / 1_000_000)

/** Never the new one, which has the earliest name if the clock was ahead before. */
async function removeOldest(folder: string, newName: string, keptCount: number): Promise<void> {
  const names = (await readdir(folder)).filter((name) => backupName.test(name) && name !== newName).sort()
  for (const name of names.slice(0, Math.max(0, names.length + 1 - keptCount)))
    await rm(join(folder, name), { recursive: true, force: true })
}
