// SQLite's errors in our words: which of them an operator can do something about, and what. Anything else, such as a
// broken constraint or a mistake in the SQL, is a belief of ours that failed, and goes through unchanged.
import { Fault } from '#core/fault.ts'

interface SqliteError extends Error {
  /** SQLite's extended result code; the low byte is the kind. */
  readonly errcode: number
}

const busy = 5
const messages: Readonly<Record<number, string>> = {
  3: 'may not be used by this user; check the owner and the permissions of the file and its folder',
  5: 'is held by another process; stop it or wait for it, then try again',
  6: 'is held by another connection; try again',
  8: 'cannot be written; check the permissions of the file and its folder, and that the disk is not mounted read-only',
  10: 'cannot be read or written; check the disk and the system log',
  11: 'is damaged; stop the server, keep a copy of the file, and restore the data folder from a backup',
  13: 'cannot grow because the disk is full; free some space, nothing that was confirmed is lost',
  14: 'cannot be opened; check that its folder exists and may be written by this user',
  15: 'cannot be locked; check that the disk is a local one',
  22: 'is too large for this file system',
  23: 'may not be used by this user; check the owner and the permissions of the file and its folder',
  26: 'is not a database or is damaged; move it away to start anew, or restore the data folder from a backup',
}

const isSqliteError = (error: unknown): error is SqliteError =>
  error instanceof Error && 'errcode' in error && typeof error.errcode === 'number'

const kindOf = (error: SqliteError): number => error.errcode & 0xff

export const isBusy = (error: unknown): boolean => isSqliteError(error) && kindOf(error) === busy

/** What the system would say of a file that SQLite cannot write; undefined: it is something else. */
export const fileCodeOf = (error: unknown): string | undefined =>
  isSqliteError(error) ? fileCodes[kindOf(error)] : undefined

const fileCodes: Readonly<Record<number, string>> = {
  3: 'EACCES',
  8: 'EROFS',
  13: 'ENOSPC',
  14: 'EACCES',
  23: 'EACCES',
}

export function renameSqlite(error: unknown, file: string): unknown {
  if (!isSqliteError(error)) return error
  const message = messages[kindOf(error)]
  if (!message) return error
  return new Fault('store.unavailable', { detail: `${file} ${message} (SQLite: ${error.message})`, cause: error })
}
