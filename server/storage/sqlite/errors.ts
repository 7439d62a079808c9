// Turns SQLite errors that an operator can fix into faults with advice. Other errors, such as violated constraints or
// invalid SQL, are bugs and stay unchanged.
import { Fault } from '#core/fault.ts'

interface SqliteError extends Error {
  /** Extended result code; the low byte is the kind. */
  readonly errcode: number
}

const busy = 5
const messages: Readonly<Record<number, string>> = {
  3: 'cannot be used: permission denied; check owner and permissions of the file and its folder',
  5: 'is locked by another process; stop it or wait for it, then try again',
  6: 'is locked by another connection; try again',
  8: 'cannot be written; check the permissions of the file and its folder, and that the disk is not mounted read-only',
  10: 'cannot be read or written; check the disk and the system log',
  11: 'is damaged; stop the server, keep a copy of the file, and restore the data folder from a backup',
  13: 'cannot grow because the disk is full; free space; confirmed data is not lost',
  14: 'cannot be opened; check that its folder exists and is writable for this user',
  15: 'cannot be locked; check that the disk is a local one',
  22: 'is too large for this file system',
  23: 'cannot be used: permission denied; check owner and permissions of the file and its folder',
  26: 'is not a database or is damaged; move it away to start with an empty one, or restore the data folder from a backup',
}

const isSqliteError = (error: unknown): error is SqliteError =>
  error instanceof Error && 'errcode' in error && typeof error.errcode === 'number'

const kindOf = (error: SqliteError): number => error.errcode & 0xff

export const isBusy = (error: unknown): boolean => isSqliteError(error) && kindOf(error) === busy

/** The system error code for a file that SQLite cannot write; undefined for other errors. */
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
