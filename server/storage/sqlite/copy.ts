// Copies SQLite files while others write to them, and checks the integrity of a file.
import { backup, DatabaseSync } from 'node:sqlite'
import { errorMessage } from '#core/error-message.ts'
import { PathError } from '#runtime/path-error.ts'
import { fileCodeOf, renameSqlite } from './errors.ts'
import { retryWhileBusy } from './retry-while-busy.ts'

/** All pages in one step, because nothing changes in a snapshot. */
const pagesPerStep = 2 ** 31 - 1
const problemsMax = 20

/** Begins a transaction that writes nothing, so that nothing else writes the file until it is disposed. */
export const blockWrites = (file: string, waitMs: number): Promise<Disposable> =>
  retryWhileBusy(file, waitMs, () => beginWriting(file))

function beginWriting(file: string): Disposable {
  const db = new DatabaseSync(file, { timeout: 0 })
  try {
    db.exec('begin immediate')
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

export interface SqliteSnapshot extends Disposable {
  copyTo(target: string): Promise<void>
}

/** The file as it is now. Others may write it before it is copied. */
export function openSnapshot(file: string): SqliteSnapshot {
  const source = openReadOnly(file)
  try {
    // The snapshot begins with the first read.
    source.exec('begin; select count(*) from sqlite_schema')
  } catch (error) {
    source.close()
    throw renameSqlite(error, file)
  }
  return {
    async copyTo(target) {
      try {
        await backup(source, target, { rate: pagesPerStep })
      } catch (error) {
        // The source is only read, so a write error is about the copy.
        const code = fileCodeOf(error)
        throw code === undefined ? renameSqlite(error, file) : new PathError(code, target, error)
      }
    },
    [Symbol.dispose]: () => source.close(),
  }
}

/** Checks all pages, indexes and foreign keys, and returns the problems. */
export function checkSqlite(file: string): readonly string[] {
  const db = openReadOnly(file)
  try {
    const rows = db.prepare(`pragma integrity_check(${problemsMax})`).all() as { integrity_check: string }[]
    const broken = db.prepare('pragma foreign_key_check').all() as { table: string; parent: string }[]
    return [
      ...rows
        .map((row) => row.integrity_check.replace('*** in database main ***\n', '').replaceAll('\n', '; '))
        .filter((message) => message !== 'ok'),
      ...broken
        .slice(0, problemsMax)
        .map(({ table, parent }) => `a row of ${table} references a missing row of ${parent}`),
    ]
  } catch (error) {
    return [errorMessage(renameSqlite(error, file))]
  } finally {
    db.close()
  }
}

/** Table → number of rows, in a file of any version. */
export function countTableRows(file: string): Record<string, number> {
  using db = openReadOnly(file)
  const count = (table: string) => db.prepare(`select count(*) as count from ${table}`).get()?.count as number
  const tables = db.prepare(`select name from sqlite_master where type = 'table' and name not like 'sqlite%'`).all()
  return Object.fromEntries(tables.map(({ name }) => [name, count(`"${name}"`)]))
}

function openReadOnly(file: string): DatabaseSync {
  try {
    return new DatabaseSync(file, { readOnly: true, timeout: 5000 })
  } catch (error) {
    throw renameSqlite(error, file)
  }
}
