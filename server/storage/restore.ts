// Creates a data folder from a backup.
//
// 1. The folder is new or empty, or contains a restore that has not finished, which starts again.
// 2. The files are copied to a folder of their own, checked and flushed there, and then get their names. As long as that
//    folder exists, nothing opens the databases (open.ts), so a restore that was killed never passes as complete.
// 3. The data folder is locked meanwhile, so that no other process uses it.
import { chmod, copyFile, mkdir, rename, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { renamePath } from '#runtime/path-error.ts'
import {
  brokenBackupFault,
  createFolder,
  databases,
  flushPath,
  listFolder,
  type Manifest,
  notEmptyFault,
  removeCopies,
  verifyBackup,
} from './backup.ts'
import { lockFolder, lockName } from './folder-lock.ts'
import { restoringFolder } from './open.ts'
import { checkFiles } from './seal-backup.ts'

/** Restores a backup to a data folder, opens it, and checks files and row counts. */
export async function restoreBackup(source: string, dataDir: string): Promise<Manifest> {
  const manifest = await verifyBackup(source)
  // Also before the lock, which creates a file.
  await refuseUsed(dataDir)
  await createFolder(dataDir)
  using _lock = lockFolder(dataDir)
  await refuseUsed(dataDir)
  const restoring = restoringFolder(dataDir)
  try {
    await restoreFiles(source, dataDir, manifest)
    await rm(restoring, { recursive: true })
    await flushPath(dataDir)
    return manifest
  } catch (error) {
    await removeCopies(dataDir)
    await rm(restoring, { recursive: true, force: true })
    throw renamePath(error)
  }
}

/** Rule 1. */
export async function isUsed(dataDir: string): Promise<boolean> {
  const names = await listFolder(dataDir)
  return !names.includes(basename(restoringFolder(dataDir))) && names.some((name) => !name.startsWith(lockName))
}

async function refuseUsed(dataDir: string): Promise<void> {
  if (await isUsed(dataDir)) throw notEmptyFault(dataDir)
}

/** Rule 2. */
async function restoreFiles(source: string, dataDir: string, { files, rows }: Manifest): Promise<void> {
  const restoring = restoringFolder(dataDir)
  await mkdir(restoring, { recursive: true, mode: 0o700 })
  await flushPath(dataDir)
  await removeCopies(restoring)
  for (const { name } of files) {
    await copyFile(join(source, name), join(restoring, name))
    await chmod(join(restoring, name), 0o600)
  }
  refuseMissingRows(source, rows, await checkFiles(restoring))
  for (const { name } of files) await flushPath(join(restoring, name))
  for (const { name } of files) await rename(join(restoring, name), join(dataDir, name))
  await flushPath(dataDir)
}

function refuseMissingRows(source: string, backedUp: Manifest['rows'], restored: Manifest['rows']): void {
  for (const database of databases)
    for (const [table, count] of Object.entries(backedUp[database])) {
      const found = restored[database][table]
      // A newer version may have added tables and rows, but none may be missing.
      if (found === undefined || found < count)
        throw brokenBackupFault(source, `${database} table ${table} has ${found ?? 'no'} rows, not ${count}`)
    }
}
