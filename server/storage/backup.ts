// Copies of both files, made while they are in use, and what makes such a copy trustworthy.
//
// 1. The two files of a copy are of one moment: no duties are written while both are copied (reads and everything else go on), and the
//    state is copied as it was at one moment of that time (behaviour/operations.md#backup).
// 2. The manifest is written last. It names every file with its digest, and every table with its rows; a folder without it
//    is not a backup.
// 3. Nothing is ever overwritten: a backup goes into a new or empty folder, and so does what is restored from it.
import { createHash } from 'node:crypto'
import { createReadStream, existsSync } from 'node:fs'
import { chmod, copyFile, open, readdir, readFile, rm, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { Fault } from '#core/fault.ts'
import { makeFolder } from '#runtime/make-folder.ts'
import { renamePath } from '#runtime/path-error.ts'
import type { Duties } from './duties.ts'
import { lockName } from './folder-lock.ts'
import { openStores, type Stores } from './open.ts'
import { checkSqlite, copySqlite } from './sqlite/copy.ts'
import type { State, StateReader } from './state.ts'

export const manifestName = 'manifest.json'
const format = 1
const files = ['state.sqlite', 'duties.sqlite'] as const
const [stateFile] = files
const manifestBytesMax = 1_048_576

export interface Manifest {
  readonly format: typeof format
  readonly madeAt: string
  readonly version: string
  readonly files: readonly { readonly name: string; readonly bytes: number; readonly sha256: string }[]
  /** Table → rows, by store. */
  readonly rows: Readonly<Record<'state' | 'duties', Readonly<Record<string, number>>>>
}

/** Invariant 1. Called by whoever has the stores open; the copy is not a backup until it is sealed. */
export async function copyStores(dataDir: string, duties: Duties, target: string): Promise<void> {
  await freshFolder(target)
  try {
    const list: CopyInput = { files: files.map((name) => ({ from: join(dataDir, name), to: join(target, name) })) }
    await duties.update('copyFiles', list)
  } catch (error) {
    // So that the same folder can be named again.
    for (const name of files) await rm(join(target, name), { force: true })
    throw error
  }
}

export interface CopyInput {
  readonly files: readonly { readonly from: string; readonly to: string }[]
}

/** An update of duties: in its transaction nobody else writes to them. */
export async function copyFiles(_: StateReader, input: CopyInput): Promise<void> {
  for (const { from, to } of input.files) await copySqlite(from, to)
}

/** Opens the copy, checks all of it and writes the manifest. May be done by another process than the one that copied. */
export async function sealBackup(target: string, madeAtMs: number, version: string): Promise<Manifest> {
  const rows = await checkFiles(target)
  const listed = []
  for (const name of files) {
    const path = join(target, name)
    await chmod(path, 0o600)
    listed.push({ name, bytes: (await stat(path)).size, sha256: await digestOf(path) })
  }
  const madeAt = new Date(madeAtMs).toISOString()
  const manifest: Manifest = { format, madeAt, version, files: listed, rows }
  await writeDurably(join(target, manifestName), `${JSON.stringify(manifest, undefined, 2)}\n`)
  return manifest
}

/** Throws unless every file is there as the manifest says. */
export async function verifyBackup(source: string): Promise<Manifest> {
  const manifest = await readManifest(source)
  for (const { name, bytes, sha256 } of manifest.files) {
    const path = join(source, name)
    const size = await stat(path).then(
      (found) => found.size,
      () => undefined,
    )
    if (size === undefined) throw brokenBackupFault(source, `${name} is missing`)
    if (size !== bytes) throw brokenBackupFault(source, `${name} has ${size} bytes, not ${bytes}`)
    if ((await digestOf(path)) !== sha256) throw brokenBackupFault(source, `${name} is not what was backed up`)
  }
  return manifest
}

/** A data folder from a backup; what is there afterwards has been opened, checked and counted. */
export async function restoreBackup(source: string, dataDir: string): Promise<Manifest> {
  const manifest = await verifyBackup(source)
  await freshFolder(dataDir)
  const rows = await copyFilesBack(source, dataDir, manifest)
  for (const port of ['state', 'duties'] as const)
    for (const [table, count] of Object.entries(manifest.rows[port])) {
      const found = rows[port][table]
      // A newer version may have added tables and rows of its own; none may be gone.
      if (found === undefined || found < count)
        throw brokenBackupFault(source, `${port} table ${table} has ${found ?? 'no'} rows, not ${count}`)
    }
  return manifest
}

async function copyFilesBack(source: string, dataDir: string, manifest: Manifest): Promise<Manifest['rows']> {
  try {
    for (const { name } of manifest.files) {
      await copyFile(join(source, name), join(dataDir, name))
      await chmod(join(dataDir, name), 0o600)
    }
    return await checkFiles(dataDir)
  } catch (error) {
    // It was empty, and may be named again.
    for (const name of await readdir(dataDir)) await rm(join(dataDir, name), { recursive: true, force: true })
    throw renamePath(error)
  }
}

/** Whatever may be wrong with two files that nobody else has open. */
async function checkFiles(dir: string): Promise<Manifest['rows']> {
  for (const name of files) {
    if (!existsSync(join(dir, name))) throw brokenBackupFault(dir, `${name} is missing`)
    const problems = checkSqlite(join(dir, name))
    if (problems.length > 0) throw brokenBackupFault(dir, `${name}: ${problems.join('; ')}`)
  }
  const stores = await openStores(dir)
  try {
    return await rowCounts(stores)
  } finally {
    await stores.close()
    await rm(join(dir, lockName), { force: true })
  }
}

/** What is wrong with the state file, looked at from outside while anybody may have it open; empty when all is well. */
export const checkState = (dataDir: string): readonly string[] => checkSqlite(join(dataDir, stateFile))

export const rowCounts = async ({ state, duties }: Pick<Stores, 'state' | 'duties'>): Promise<Manifest['rows']> => ({
  state: await tableRows(state),
  duties: await tableRows(duties),
})

async function tableRows(state: State): Promise<Record<string, number>> {
  const rows: Record<string, number> = {}
  const tables = await state.all<{ name: string }>(
    `select name from sqlite_master where type = 'table' and name not like 'sqlite%' order by name`,
  )
  for (const { name } of tables) {
    const row = await state.get<{ count: number }>(`select count(*) as count from "${name}"`)
    rows[name] = row?.count ?? 0
  }
  return rows
}

async function readManifest(source: string): Promise<Manifest> {
  const path = join(source, manifestName)
  const text = await readFile(path, 'utf8').catch(() => {
    throw brokenBackupFault(source, `there is no ${manifestName}, so this is no finished backup`)
  })
  if (text.length > manifestBytesMax) throw brokenBackupFault(source, `${manifestName} is too long`)
  try {
    const manifest = JSON.parse(text) as Manifest
    const names = manifest.files.map(({ name }) => name)
    if (manifest.format !== format) throw new Error(`format ${manifest.format}`)
    if (names.join() !== files.join()) throw new Error(`files ${names.join()}`)
    return manifest
  } catch (error) {
    throw brokenBackupFault(source, `${manifestName} cannot be understood (${(error as Error).message})`)
  }
}

async function freshFolder(dir: string): Promise<void> {
  const there = await readdir(dir).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw new Fault('store.unavailable', { detail: `${dir} cannot be used (${error.message})`, cause: error })
  })
  if (there && there.length > 0) {
    throw new Fault('store.unavailable', { detail: `${resolve(dir)} is not empty; name a new folder` })
  }
  // For the owner only: it holds the hashes of keys and the secrets behind links and receipts.
  await makeFolder(dir, 0o700).catch((error: Error) => {
    throw new Fault('store.unavailable', { detail: `${dir} cannot be made (${error.message})`, cause: error })
  })
}

async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(path)) hash.update(chunk as Uint8Array)
  return hash.digest('hex')
}

async function writeDurably(path: string, text: string): Promise<void> {
  let isOurs = false
  try {
    await using file = await open(path, 'wx', 0o600)
    isOurs = true
    await file.writeFile(text)
    await file.sync()
  } catch (error) {
    if (isOurs) await rm(path, { force: true })
    throw renamePath(error, path)
  }
}

const brokenBackupFault = (dir: string, message: string): Fault =>
  new Fault('store.unavailable', { detail: `the backup in ${resolve(dir)} is not usable: ${message}` })
