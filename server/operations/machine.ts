// Doctor checks of this machine: data folder, disk, database and configuration.
import { readdir, stat, statfs } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { complete } from '#core/schema-check.ts'
import { mayPriceTrades } from '#runtime/settings/fx-sources.ts'
import { type Settings, SettingsSchema } from '#runtime/settings.ts'
import { isRestoreUnfinished } from '#storage/open.ts'
import { checkSqlite } from '#storage/sqlite/copy.ts'
import { type DoctorFinding, failFinding, okFinding, runCheck, warnFinding } from './diagnosis.ts'

const gibibyte = 2 ** 30
const freeBytesMin = gibibyte / 4
const freeBytesLow = 4 * gibibyte
const connectionsFullFrom = 0.8
/** A file of another user cannot be checked either, and is not damaged. */
const damagedTodo =
  'run the doctor as the user of the server; if the file is damaged, stop the server, keep a copy, restore the last backup'

/** The duties are checked in doctor.ts. */
const stateFiles = ['state.sqlite', 'ingest.sqlite']

const startTodo = 'start the server once; if it has run before, check that the disk of the folder is mounted'

/** Before the first start there is none. Other errors, such as a missing permission, are reported by the checks. */
export const isFolderMissing = async (dataDir: string): Promise<boolean> =>
  (await stat(dataDir).catch(({ code }) => code !== 'ENOENT')) === false

export async function machineFindings(
  dataDir: string,
  store: { readonly state: string } = { state: '' },
  /** Whether the operator named the folder, so that it should exist. */
  isNamed = true,
): Promise<readonly DoctorFinding[]> {
  if (await isFolderMissing(dataDir)) {
    const missing = isNamed
      ? failFinding('data folder', `${resolve(dataDir)} does not exist`, 'correct --data, or start the server once')
      : warnFinding('data folder', `${resolve(dataDir)} does not exist yet`, startTodo)
    return [missing, ...(store.state === '' ? [] : await stateFindings(store.state))]
  }
  if (store.state === '' && isRestoreUnfinished(dataDir)) {
    const message = `a restore into ${resolve(dataDir)} has not finished`
    return [failFinding('data folder', message, 'run `tetrad restore` again, or choose another folder')]
  }
  return [
    ...(await runCheck('data folder', 'check its owner and permissions', () => folderFindings(dataDir))),
    ...(await runCheck('disk', 'check the disk, and that this user may read the folder', () => diskFindings(dataDir))),
    ...(store.state === ''
      ? (
          await Promise.all(stateFiles.map((file) => runCheck(file, damagedTodo, () => fileFindings(dataDir, file))))
        ).flat()
      : await stateFindings(store.state)),
  ]
}

const stateFindings = (url: string): Promise<readonly DoctorFinding[]> =>
  runCheck('state', 'check that PostgreSQL is running, and its log', () => postgresFindings(url))

async function folderFindings(dataDir: string): Promise<DoctorFinding[]> {
  const { mode, uid } = await stat(dataDir)
  const userId = process.getuid?.()
  const findings: DoctorFinding[] = []
  if ((mode & 0o077) !== 0) {
    const message = `other users of this machine can read ${resolve(dataDir)} (mode ${(mode & 0o777).toString(8)})`
    findings.push(warnFinding('data folder', message, `chmod 700 ${resolve(dataDir)}`))
  }
  if (userId !== undefined && userId !== uid && userId !== 0) {
    const message = 'the folder belongs to another user'
    findings.push(warnFinding('data folder', message, 'run the doctor as the user that runs the server'))
  }
  return findings.length > 0
    ? findings
    : [okFinding('data folder', `${resolve(dataDir)}, accessible only to its owner`)]
}

async function diskFindings(dataDir: string): Promise<DoctorFinding[]> {
  const { bavail, bsize } = await statfs(dataDir)
  const freeBytes = bavail * bsize
  const usedBytes = await sizeOf(dataDir)
  const message = `${sizeText(freeBytes)} free, ${sizeText(usedBytes)} of data`
  if (freeBytes < freeBytesMin) return [failFinding('disk', message, 'free some space: writes will fail soon')]
  if (freeBytes < Math.max(freeBytesLow, usedBytes / 10)) {
    return [warnFinding('disk', message, 'free some space; an upgrade may rewrite a table')]
  }
  return [okFinding('disk', message)]
}

/** With subfolders, such as recorded states. */
async function sizeOf(dir: string): Promise<number> {
  let bytes = 0
  // A running server replaces files.
  for (const entry of await readdir(dir, { withFileTypes: true, recursive: true }))
    if (entry.isFile()) bytes += (await stat(join(entry.parentPath, entry.name)).catch(() => undefined))?.size ?? 0
  return bytes
}

const sizeText = (bytes: number): string =>
  bytes < gibibyte ? `${(bytes / 2 ** 20).toFixed(1)} MiB` : `${(bytes / gibibyte).toFixed(1)} GiB`

export async function fileFindings(dataDir: string, file: string): Promise<DoctorFinding[]> {
  if (!(await readdir(dataDir)).includes(file))
    return [warnFinding(file, 'does not exist yet', 'start the server once')]
  // Other processes may have it open.
  const problems = checkSqlite(join(dataDir, file))
  if (problems.length === 0) return [okFinding(file, 'every page, index and reference is intact')]
  return [failFinding(file, problems.join('; '), damagedTodo)]
}

async function postgresFindings(url: string): Promise<DoctorFinding[]> {
  const { checkPostgres } = await import('#storage/postgres/check.ts')
  const { name, version, risks, connections } = await checkPostgres(url)
  const { used, max } = connections
  const findings: DoctorFinding[] = []
  if (risks.length > 0) {
    const message = `${name}: ${risks.join(', ')}, so a power failure may lose acknowledged writes`
    findings.push(failFinding('state', message, 'turn it on in postgresql.conf'))
  }
  if (used > max * connectionsFullFrom) {
    findings.push(warnFinding('state', `${used} of ${max} connections are in use`, 'raise max_connections'))
  }
  return findings.length > 0
    ? findings
    : [okFinding('state', `${name}, version ${version}, ${used} of ${max} connections`)]
}

/** Settings that are valid but probably not intended. */
export function settingsFindings(settings: Settings, configured: boolean): readonly DoctorFinding[] {
  const defaults = complete(SettingsSchema, {}).value
  const { server, fx, groups } = settings
  const isOpen = !['127.0.0.1', '::1', 'localhost'].includes(server.host)
  const findings: DoctorFinding[] = []
  if (!configured)
    findings.push(warnFinding('configuration', 'not configured: the server shows demo data', 'write tetrad.yaml'))
  if (isOpen && server.publicUrl === '') {
    const message = 'not set: links in responses have the address of this server, not its host name'
    findings.push(warnFinding('server.publicUrl', message, 'set it to the URL that callers use'))
  }
  findings.push(...limitsFindings(settings))
  // Without fx settings the operator does not intend to serve quotes.
  if (configured && groups.fx.enabled && !isDeepStrictEqual(fx, defaults.fx)) findings.push(...fxFindings(fx))
  return findings.length > 0 ? findings : [okFinding('configuration', 'valid')]
}

/** The server cannot know whether others share its database, so this is only a warning. */
export function limitsFindings({ store, limits }: Pick<Settings, 'store' | 'limits'>): readonly DoctorFinding[] {
  if (store.state === '' || limits !== '') return []
  const message = 'each server on this database counts calls separately, so two servers allow twice as many calls'
  return [
    warnFinding('limits', message, 'set limits to a Redis that all servers can reach; a single server needs none'),
  ]
}

function fxFindings({ spender, sources }: Settings['fx']): readonly DoctorFinding[] {
  if (spender === '') {
    const message = 'not set: tradable quotes are refused, only reference quotes work'
    return [warnFinding('fx.spender', message, 'set it to your settlement contract')]
  }
  if (sources.length === 0 || sources.some(mayPriceTrades)) return []
  const message = 'no source may price tradable quotes, so they are refused'
  return [warnFinding('fx.sources', message, 'add a source with current rates, or set tradable: true for one')]
}
