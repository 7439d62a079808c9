// Ensures that only one process works on a data folder: a server, or a command that needs it exclusively. The operating
// system releases the lock when the process ends.
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Fault } from '#core/fault.ts'
import { isBusy, renameSqlite } from './sqlite/errors.ts'

export const lockName = 'lock.sqlite'

/** Throws a fault if another process has the folder. Disposing releases the lock. */
export function lockFolder(dir: string): Disposable {
  const lock = lockUnusedFolder(dir)
  if (lock) return lock
  throw new Fault('store.unavailable', {
    detail: `${dir} is in use by another process, probably a running server; stop it, or wait until it has ended`,
  })
}

/** Undefined if another process has the folder. */
export function lockUnusedFolder(dir: string): Disposable | undefined {
  const file = join(dir, lockName)
  let db: DatabaseSync | undefined
  try {
    db = new DatabaseSync(file, { timeout: 0 })
    // SQLite's file lock; nothing is ever written.
    db.exec('begin exclusive')
    return db
  } catch (error) {
    db?.close()
    if (isBusy(error)) return undefined
    throw renameSqlite(error, file)
  }
}
