// What the doctor sees without asking anyone: the folder, the disk, the files, the configuration.
import { existsSync } from 'node:fs'
import { readdir, stat, statfs } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { complete } from '#core/check.ts'
import { mayPriceTrades } from '#core/settings/fx-sources.ts'
import { type Settings, SettingsSchema } from '#core/settings.ts'
import { checkState } from '#store/backup.ts'
import { checkPostgres } from '#store/engines/postgres-check.ts'
import { bad, type Diagnosis, examined, warn, well } from './diagnosis.ts'
import { aliasFindings } from './spellings.ts'

const gibibyte = 2 ** 30
const freeBytesMin = gibibyte / 4
const freeBytesLow = 4 * gibibyte
const connectionsFullFrom = 0.8

export async function machineFindings(
  dataDir: string,
  store: { readonly state: string } = { state: '' },
): Promise<readonly Diagnosis[]> {
  if (!existsSync(dataDir)) {
    return [bad('data folder', `${resolve(dataDir)} is not there`, 'name it with --data, or start the server once')]
  }
  return [
    ...(await examined('data folder', 'check its owner and permissions', () => folderFindings(dataDir))),
    ...(await examined('disk', 'check the disk', () => diskFindings(dataDir))),
    ...(store.state === ''
      ? await examined('state.sqlite', 'restore the last backup', () => stateFindings(dataDir))
      : await examined('state', 'see whether PostgreSQL runs, and its log', () => postgresFindings(store.state))),
  ]
}

async function folderFindings(dataDir: string): Promise<Diagnosis[]> {
  const { mode, uid } = await stat(dataDir)
  const me = process.getuid?.()
  const findings: Diagnosis[] = []
  if ((mode & 0o077) !== 0) {
    const says = `others on this machine may look into ${resolve(dataDir)} (mode ${(mode & 0o777).toString(8)})`
    findings.push(warn('data folder', says, `chmod 700 ${resolve(dataDir)}`))
  }
  if (me !== undefined && me !== uid && me !== 0) {
    const says = 'the folder belongs to another user'
    findings.push(warn('data folder', says, 'run the doctor as the user that runs the server'))
  }
  return findings.length > 0 ? findings : [well('data folder', `${resolve(dataDir)}, for its owner only`)]
}

async function diskFindings(dataDir: string): Promise<Diagnosis[]> {
  const { bavail, bsize } = await statfs(dataDir)
  const freeBytes = bavail * bsize
  const usedBytes = await sizeOf(dataDir)
  const says = `${sizeText(freeBytes)} free, ${sizeText(usedBytes)} of data`
  if (freeBytes < freeBytesMin) return [bad('disk', says, 'free some space: nothing can be written soon')]
  if (freeBytes < Math.max(freeBytesLow, usedBytes / 10)) {
    return [warn('disk', says, 'make room before it is needed; an upgrade may write a table anew')]
  }
  return [well('disk', says)]
}

async function sizeOf(dir: string): Promise<number> {
  let bytes = 0
  for (const entry of await readdir(dir, { withFileTypes: true }))
    if (entry.isFile()) bytes += (await stat(join(dir, entry.name))).size
  return bytes
}

const sizeText = (bytes: number): string =>
  bytes < gibibyte ? `${(bytes / 2 ** 20).toFixed(1)} MiB` : `${(bytes / gibibyte).toFixed(1)} GiB`

async function stateFindings(dataDir: string): Promise<Diagnosis[]> {
  if (!existsSync(join(dataDir, 'state.sqlite')))
    return [warn('state.sqlite', 'there is none yet', 'start the server once')]
  const problems = checkState(dataDir)
  if (problems.length === 0) return [well('state.sqlite', 'every page, index and reference is sound')]
  return [bad('state.sqlite', problems.join('; '), 'stop the server, keep the file, restore the last backup')]
}

async function postgresFindings(url: string): Promise<Diagnosis[]> {
  const { name, version, risks, connections } = await checkPostgres(url)
  const { used, max } = connections
  const findings: Diagnosis[] = []
  if (risks.length > 0) {
    const says = `${name}: ${risks.join(', ')}, so a power cut may take what was acknowledged`
    findings.push(bad('state', says, 'switch it on in postgresql.conf'))
  }
  if (used > max * connectionsFullFrom) {
    findings.push(warn('state', `${used} of ${max} connections are in use`, 'raise max_connections before it is full'))
  }
  return findings.length > 0 ? findings : [well('state', `${name}, version ${version}, ${used} of ${max} connections`)]
}

/** What is valid but hardly meant. */
export function settingsFindings(settings: Settings, configured: boolean): readonly Diagnosis[] {
  const usual = complete(SettingsSchema, {}).value
  const { server, fx, groups } = settings
  const isOpen = !['127.0.0.1', '::1', 'localhost'].includes(server.host)
  const findings: Diagnosis[] = [
    ...(configured
      ? []
      : [warn('configuration', 'nothing is configured, so the demo world is shown', 'write tetrad.yaml')]),
    ...(isOpen && server.publicUrl === ''
      ? [warn('server.publicUrl', 'links are written with whatever host a caller names', 'set server.publicUrl')]
      : []),
    ...limitsFindings(settings),
    ...aliasFindings(settings.aliases),
    // Whoever has written nothing about quotes serves something else.
    ...(configured && groups.fx.on && !isDeepStrictEqual(fx, usual.fx) ? fxFindings(fx) : []),
  ]
  return findings.length > 0 ? findings : [well('configuration', 'valid, and nothing in it looks unintended')]
}

/** Whether a server shares its state is known to whoever started the others. */
export function limitsFindings({ store, limits }: Pick<Settings, 'store' | 'limits'>): readonly Diagnosis[] {
  if (store.state === '' || limits !== '') return []
  const says = 'each server on this state counts calls by itself, so two of them let twice as many through'
  return [warn('limits', says, 'set limits to a Redis that all of them reach; a server that is alone needs none')]
}

function fxFindings({ spender, sources }: Settings['fx']): readonly Diagnosis[] {
  if (spender === '') {
    const says = 'is not set: tradable quotes are refused, only reference quotes are given'
    return [warn('fx.spender', says, 'set it to your settlement contract')]
  }
  if (sources.length === 0 || sources.some(mayPriceTrades)) return []
  const says = 'none may price tradable quotes, so they are refused'
  return [warn('fx.sources', says, 'add a source of the moment, or say tradable: true of one')]
}
