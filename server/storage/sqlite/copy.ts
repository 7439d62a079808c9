// A copy of a SQLite file while others write to it, and whether a file is sound.
import { backup, DatabaseSync } from 'node:sqlite'
import { PathError } from '#runtime/path-error.ts'
import { fileCodeOf, renameSqlite } from './errors.ts'

/** All pages in one step: the copy is what was committed at one moment, and writers are not kept waiting. */
const pagesPerStep = 2 ** 31 - 1
const problemsMax = 20

export async function copySqlite(file: string, target: string): Promise<void> {
  const source = openReadOnly(file)
  try {
    await backup(source, target, { rate: pagesPerStep })
  } catch (error) {
    // The source is only read: what cannot be written is the copy.
    const code = fileCodeOf(error)
    throw code === undefined ? renameSqlite(error, file) : new PathError(code, target, error)
  } finally {
    source.close()
  }
}

/** Every page, index and reference is looked at; empty when all is well. */
export function checkSqlite(file: string): readonly string[] {
  const db = openReadOnly(file)
  try {
    const rows = db.prepare(`pragma integrity_check(${problemsMax})`).all() as { integrity_check: string }[]
    const broken = db.prepare('pragma foreign_key_check').all() as { table: string; parent: string }[]
    return [
      ...rows.map((row) => row.integrity_check).filter((message) => message !== 'ok'),
      ...broken.slice(0, problemsMax).map(({ table, parent }) => `a row of ${table} refers to none of ${parent}`),
    ]
  } catch (error) {
    const renamed = renameSqlite(error, file)
    return [renamed instanceof Error ? renamed.message : String(renamed)]
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
