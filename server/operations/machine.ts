// What the doctor sees without asking anyone: the folder, the disk, the files, the configuration.
import { existsSync } from 'node:fs'
import { readdir, stat, statfs } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { complete } from '#core/schema-check.ts'
import { mayPriceTrades } from '#runtime/settings/fx-sources.ts'
import { type Settings, SettingsSchema } from '#runtime/settings.ts'
import { checkState } from '#storage/backup.ts'
import { checkPostgres } from '#storage/postgres/check.ts'
import { aliasFindings } from './alias-lint.ts'
import { badFinding, type DoctorFinding, okFinding, runCheck, warnFinding } from './diagnosis.ts'

const gibibyte = 2 ** 30
const freeBytesMin = gibibyte / 4
const freeBytesLow = 4 * gibibyte
const connectionsFullFrom = 0.8

export async function machineFindings(
  dataDir: string,
  store: { readonly state: string } = { state: '' },
): Promise<readonly DoctorFinding[]> {
  if (!existsSync(dataDir)) {
    return [
      badFinding('data folder', `${resolve(dataDir)} is not there`, 'name it with --data, or start the server once'),
    ]
  }
  return [
    ...(await runCheck('data folder', 'check its owner and permissions', () => folderFindings(dataDir))),
    ...(await runCheck('disk', 'check the disk', () => diskFindings(dataDir))),
    ...(store.state === ''
      ? await runCheck('state.sqlite', 'restore the last backup', () => stateFindings(dataDir))
      : await runCheck('state', 'see whether PostgreSQL runs, and its log', () => postgresFindings(store.state))),
  ]
}

async function folderFindings(dataDir: string): Promise<DoctorFinding[]> {
  const { mode, uid } = await stat(dataDir)
  const me = process.getuid?.()
  const findings: DoctorFinding[] = []
  if ((mode & 0o077) !== 0) {
    const message = `others on this machine may look into ${resolve(dataDir)} (mode ${(mode & 0o777).toString(8)})`
    findings.push(warnFinding('data folder', message, `chmod 700 ${resolve(dataDir)}`))
  }
  if (me !== undefined && me !== uid && me !== 0) {
    const message = 'the folder belongs to another user'
    findings.push(warnFinding('data folder', message, 'run the doctor as the user that runs the server'))
  }
  return findings.length > 0 ? findings : [okFinding('data folder', `${resolve(dataDir)}, for its owner only`)]
}

async function diskFindings(dataDir: string): Promise<DoctorFinding[]> {
  const { bavail, bsize } = await statfs(dataDir)
  const freeBytes = bavail * bsize
  const usedBytes = await sizeOf(dataDir)
  const message = `${sizeText(freeBytes)} free, ${sizeText(usedBytes)} of data`
  if (freeBytes < freeBytesMin) return [badFinding('disk', message, 'free some space: nothing can be written soon')]
  if (freeBytes < Math.max(freeBytesLow, usedBytes / 10)) {
    return [warnFinding('disk', message, 'make room before it is needed; an upgrade may write a table anew')]
  }
  return [okFinding('disk', message)]
}

async function sizeOf(dir: string): Promise<number> {
  let bytes = 0
  for (const entry of await readdir(dir, { withFileTypes: true }))
    if (entry.isFile()) bytes += (await stat(join(dir, entry.name))).size
  return bytes
}

const sizeText = (bytes: number): string =>
  bytes < gibibyte ? `${(bytes / 2 ** 20).toFixed(1)} MiB` : `${(bytes / gibibyte).toFixed(1)} GiB`

async function stateFindings(dataDir: string): Promise<DoctorFinding[]> {
  if (!existsSync(join(dataDir, 'state.sqlite')))
    return [warnFinding('state.sqlite', 'there is none yet', 'start the server once')]
  const problems = checkState(dataDir)
  if (problems.length === 0) return [okFinding('state.sqlite', 'every page, index and reference is sound')]
  return [badFinding('state.sqlite', problems.join('; '), 'stop the server, keep the file, restore the last backup')]
}

async function postgresFindings(url: string): Promise<DoctorFinding[]> {
  const { name, version, risks, connections } = await checkPostgres(url)
  const { used, max } = connections
  const findings: DoctorFinding[] = []
  if (risks.length > 0) {
    const message = `${name}: ${risks.join(', ')}, so a power cut may take what was acknowledged`
    findings.push(badFinding('state', message, 'switch it on in postgresql.conf'))
  }
  if (used > max * connectionsFullFrom) {
    findings.push(
      warnFinding('state', `${used} of ${max} connections are in use`, 'raise max_connections before it is full'),
    )
  }
  return findings.length > 0
    ? findings
    : [okFinding('state', `${name}, version ${version}, ${used} of ${max} connections`)]
}

/** What is valid but hardly meant. */
export function settingsFindings(settings: Settings, configured: boolean): readonly DoctorFinding[] {
  const usual = complete(SettingsSchema, {}).value
  const { server, fx, groups } = settings
  const isOpen = !['127.0.0.1', '::1', 'localhost'].includes(server.host)
  const findings: DoctorFinding[] = [
    ...(configured
      ? []
      : [warnFinding('configuration', 'nothing is configured, so the demo world is shown', 'write tetrad.yaml')]),
    ...(isOpen && server.publicUrl === ''
      ? [warnFinding('server.publicUrl', 'links are written with whatever host a caller names', 'set server.publicUrl')]
      : []),
    ...limitsFindings(settings),
    ...aliasFindings(settings.aliases),
    // Whoever has written nothing about quotes serves something else.
    ...(configured && groups.fx.on && !isDeepStrictEqual(fx, usual.fx) ? fxFindings(fx) : []),
  ]
  return findings.length > 0 ? findings : [okFinding('configuration', 'valid, and nothing in it looks unintended')]
}

/** Whether a server shares its state is known to whoever started the others. */
export function limitsFindings({ store, limits }: Pick<Settings, 'store' | 'limits'>): readonly DoctorFinding[] {
  if (store.state === '' || limits !== '') return []
  const message = 'each server on this state counts calls by itself, so two of them let twice as many through'
  return [
    warnFinding('limits', message, 'set limits to a Redis that all of them reach; a server that is alone needs none'),
  ]
}

function fxFindings({ spender, sources }: Settings['fx']): readonly DoctorFinding[] {
  if (spender === '') {
    const message = 'is not set: tradable quotes are refused, only reference quotes are given'
    return [warnFinding('fx.spender', message, 'set it to your settlement contract')]
  }
  if (sources.length === 0 || sources.some(mayPriceTrades)) return []
  const message = 'none may price tradable quotes, so they are refused'
  return [warnFinding('fx.sources', message, 'add a source of the moment, or say tradable: true of one')]
}
