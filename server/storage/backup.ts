// Backs up all database files while they are in use, and verifies backups.
//
// 1. All files are of one moment: what was committed before something else, in whichever file, is in the backup if that
//    is. Writes pause only until the snapshots are open; they continue while these are copied
//    (behaviour/operations.md#backup).
// 2. The manifest is written last. It has a digest of every file and the number of rows of every table. A folder without
//    a manifest is not a backup.
// 3. Nothing is overwritten: a backup needs a new or empty folder.
import { createHash } from 'node:crypto'
import { createReadStream, existsSync } from 'node:fs'
import { chmod, open, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { Fault } from '#core/fault.ts'
import { makeFolder } from '#runtime/make-folder.ts'
import { renamePath } from '#runtime/path-error.ts'
import { lockName } from './folder-lock.ts'
import { blockWrites, checkSqlite, countTableRows, openSnapshot } from './sqlite/copy.ts'
import type { State } from './state.ts'

export const manifestName = 'manifest.json'
const format = 1
const files = ['state.sqlite', 'ingest.sqlite', 'duties.sqlite'] as const
export const databaseFiles: readonly string[] = files
export const databases = ['state', 'ingest', 'duties'] as const
const manifestBytesMax = 1_048_576
/** A commit of duties may take a few seconds. */
const blockWaitMs = 60_000

export interface Manifest {
  readonly format: typeof format
  readonly madeAt: string
  readonly version: string
  readonly files: readonly { readonly name: string; readonly bytes: number; readonly sha256: string }[]
  /** Table → number of rows, by database. */
  readonly rows: Readonly<Record<(typeof databases)[number], Readonly<Record<string, number>>>>
}

/** Runs in the process that has the databases open; `ingest` is its own. `sealBackup` completes the backup. */
export async function copyStores(dataDir: string, ingest: State, target: string): Promise<void> {
  await freshFolder(target)
  try {
    using snapshots = await openSnapshots(dataDir, ingest)
    for (const [name, snapshot] of snapshots.of) await snapshot.copyTo(join(target, name))
  } catch (error) {
    await removeCopies(target)
    throw error
  }
}

/**
 * Rule 1: opens snapshots of all files while none can be written. Waits for the longest transactions first, and for
 * those of requests last. Ingesters write with short breaks only, so this waits in their queue.
 */
async function openSnapshots(dataDir: string, ingest: State) {
  using snapshots = new DisposableStack()
  using _duties = await blockWrites(join(dataDir, 'duties.sqlite'), blockWaitMs)
  const opened = await ingest.write(async () => {
    using _state = await blockWrites(join(dataDir, 'state.sqlite'), blockWaitMs)
    return files.map((name) => [name, snapshots.use(openSnapshot(join(dataDir, name)))] as const)
  })
  const open = snapshots.move()
  return { of: opened, [Symbol.dispose]: () => open.dispose() }
}

/** Leaves an empty folder, so that it can be used again. Removes only what a backup or a restore creates. */
export async function removeCopies(target: string): Promise<void> {
  for (const name of [...files, lockName])
    for (const suffix of ['', '-journal', '-shm', '-wal']) await rm(join(target, `${name}${suffix}`), { force: true })
}

/** Checks a copy of an earlier version, which stays as it is, and writes the manifest (seal-backup.ts). */
export async function sealEarlierBackup(target: string, madeAtMs: number): Promise<Manifest> {
  checkIntegrity(target)
  const [state = {}, ingest = {}, duties = {}] = files.map((name) => countTableRows(join(target, name)))
  return writeManifest(target, madeAtMs, 'an earlier version', { state, ingest, duties })
}

export async function writeManifest(
  target: string,
  madeAtMs: number,
  version: string,
  rows: Manifest['rows'],
): Promise<Manifest> {
  const listed = []
  for (const name of files) {
    const path = join(target, name)
    await chmod(path, 0o600)
    listed.push({ name, bytes: (await stat(path)).size, sha256: await digestOf(path) })
  }
  const madeAt = new Date(madeAtMs).toISOString()
  const manifest: Manifest = { format, madeAt, version, files: listed, rows }
  await writeDurably(join(target, manifestName), `${JSON.stringify(manifest, undefined, 2)}\n`)
  await flushPath(target)
  return manifest
}

/** Throws unless all files match the manifest. */
export async function verifyBackup(source: string): Promise<Manifest> {
  const manifest = await readManifest(source)
  for (const { name, bytes, sha256 } of manifest.files) {
    const path = join(source, name)
    const stats = await stat(path).catch(() => undefined)
    if (!stats) throw brokenBackupFault(source, `${name} is missing`)
    if (stats.size !== bytes) throw brokenBackupFault(source, `${name} has ${stats.size} bytes, not ${bytes}`)
    if ((await digestOf(path)) !== sha256) throw brokenBackupFault(source, `${name} has changed since the backup`)
  }
  return manifest
}

/** Every page of every file. */
export function checkIntegrity(dir: string): void {
  for (const name of files) {
    if (!existsSync(join(dir, name))) throw brokenBackupFault(dir, `${name} is missing`)
    const problems = checkSqlite(join(dir, name))
    if (problems.length > 0) throw brokenBackupFault(dir, `${name}: ${problems.join('; ')}`)
  }
}

async function readManifest(source: string): Promise<Manifest> {
  const path = join(source, manifestName)
  const text = await readFile(path, 'utf8').catch(() => {
    throw brokenBackupFault(source, `${manifestName} is missing, so the backup is not complete`)
  })
  if (text.length > manifestBytesMax) throw brokenBackupFault(source, `${manifestName} is too long`)
  try {
    const manifest = JSON.parse(text) as Manifest
    const names = manifest.files.map(({ name }) => name)
    if (manifest.format !== format) throw new Error(`format ${manifest.format}`)
    if (names.join() !== files.join()) throw new Error(`files ${names.join()}`)
    for (const store of databases) if (!manifest.rows?.[store]) throw new Error(`no row counts of ${store}`)
    return manifest
  } catch (error) {
    throw brokenBackupFault(source, `${manifestName} is not valid (${(error as Error).message})`)
  }
}

async function freshFolder(dir: string): Promise<void> {
  if ((await listFolder(dir)).length > 0) throw notEmptyFault(dir)
  await createFolder(dir)
}

export const notEmptyFault = (dir: string): Fault =>
  new Fault('store.unavailable', { detail: `${resolve(dir)} is not empty; choose a new folder` })

/** The names of its files; none if it does not exist. */
export async function listFolder(dir: string): Promise<readonly string[]> {
  return readdir(dir).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw new Fault('store.unavailable', { detail: `${dir} cannot be used (${error.message})`, cause: error })
  })
}

/** Readable only by the owner, because it contains hashes of keys and the secrets of links and receipts. */
export async function createFolder(dir: string): Promise<void> {
  await makeFolder(dir, 0o700).catch((error: Error) => {
    throw new Fault('store.unavailable', { detail: `${dir} cannot be created (${error.message})`, cause: error })
  })
}

async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(path)) hash.update(chunk as Uint8Array)
  return hash.digest('hex')
}

/** What was written to a file, or the names in a folder, survive a power failure. */
export async function flushPath(path: string): Promise<void> {
  await using file = await open(path)
  await file.sync()
}

async function writeDurably(path: string, text: string): Promise<void> {
  let isCreated = false
  try {
    await using file = await open(path, 'wx', 0o600)
    isCreated = true
    await writeFile(file, text, { flush: true })
  } catch (error) {
    if (isCreated) await rm(path, { force: true })
    throw renamePath(error, path)
  }
}

export const brokenBackupFault = (dir: string, message: string): Fault =>
  new Fault('store.unavailable', { detail: `the backup in ${resolve(dir)} cannot be used: ${message}` })
