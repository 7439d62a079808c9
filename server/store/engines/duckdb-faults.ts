// DuckDB's errors in our words. They carry no codes, only text, so they are told apart by it; the tests provoke each
// one for real, and a version of DuckDB that words them differently turns them red.
import { Fault } from '#core/fault.ts'

const kinds: readonly (readonly [RegExp, string])[] = [
  [
    /set lock on file|conflicting lock|being used by another process/i,
    'is held by another process, most likely a running server; stop it, or let it do the work',
  ],
  [
    /invalidated.*(no space left|file too large|quota exceeded)/is,
    'was given up because the disk is full; free some space and restart the server, nothing that was confirmed is lost',
  ],
  [/no space left|file too large|quota exceeded/i, 'cannot grow because the disk is full; free some space'],
  [/permission denied|read-only/i, 'may not be used by this user; check the permissions of the file and its folder'],
  [
    /not a valid duckdb|corrupt|checksum|deserializ|wal file|not read enough bytes|encrypted/i,
    'is not a database or is damaged; move it away to start anew, or restore the data folder from a backup',
  ],
  [/out of memory/i, 'needs more memory than DuckDB may use; ask for less at once or give the process more memory'],
  [/invalidated/i, 'was given up after an earlier error; restart the server'],
  [/^io error/i, 'cannot be read or written; check the disk and the system log'],
]

export function renameDuckdb(error: unknown, file: string): unknown {
  if (!(error instanceof Error) || error instanceof Fault) return error
  const words = kinds.find(([text]) => text.test(error.message))?.[1]
  if (!words) return error
  return new Fault('store.unavailable', { detail: `${file} ${words} (DuckDB: ${error.message})`, cause: error })
}
