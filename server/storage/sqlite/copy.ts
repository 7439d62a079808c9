// Copies a SQLite file while others write to it, and checks the integrity of a file.
import { backup, DatabaseSync } from 'node:sqlite'
import { errorMessage } from '#core/error-message.ts'
import { PathError } from '#runtime/path-error.ts'
import { fileCodeOf, renameSqlite } from './errors.ts'

/** All pages in one step, so that the copy is one snapshot and does not block writers. */
const pagesPerStep = 2 ** 31 - 1
const problemsMax = 20

export async function copySqlite(file: string, target: string): Promise<void> {
  const source = openReadOnly(file)
  try {
    await backup(source, target, { rate: pagesPerStep })
  } catch (error) {
    // The source is only read, so a write error is about the copy.
    const code = fileCodeOf(error)
    throw code === undefined ? renameSqlite(error, file) : new PathError(code, target, error)
  } finally {
    source.close()
  }
}

/** Checks all pages, indexes and foreign keys, and returns the problems. */
export function checkSqlite(file: string): readonly string[] {
  const db = openReadOnly(file)
  try {
    const rows = db.prepare(`pragma integrity_check(${problemsMax})`).all() as { integrity_check: string }[]
    const broken = db.prepare('pragma foreign_key_check').all() as { table: string; parent: string }[]
    return [
      ...rows.map((row) => row.integrity_check).filter((message) => message !== 'ok'),
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

function openReadOnly(file: string): DatabaseSync {
  try {
    return new DatabaseSync(file, { readOnly: true, timeout: 5000 })
  } catch (error) {
    throw renameSqlite(error, file)
  }
}
