// `tetrad doctor`: checks configuration, data folder, disk, database, nodes, sources and clocks, verifies a sample of
// stored results, and prints what to do about each problem.
import { existsSync } from 'node:fs'
import type { Command } from 'commander'
import type { DoctorFinding } from '#operations/diagnosis.ts'
import type { Config } from '#runtime/config.ts'
import { withState } from './data.ts'
import { queryServer, withContext } from './data-owner.ts'
import { docsPage } from './docs-page.ts'
import { describeFailure } from './failure.ts'
import { integerBetween } from './parse-integer.ts'
import { counted, paint, print, printJson } from './print.ts'
import { withActivity } from './progress.ts'
import { clock } from './runtime.ts'
import { type CommonOptions, configOf, dataDirOf } from './settings.ts'

interface Options extends CommonOptions {
  readonly sample: number
  readonly offline?: boolean
  readonly deep?: boolean
}

export function addDoctor(program: Command): void {
  program
    .command('doctor')
    .description(
      'Check everything and print what to do. Exits with 1 if a check fails. Works with and without a running server.',
    )
    .option('--sample <n>', 'stored results of each kind to verify; 0: none', integerBetween(0, 1000), 20)
    .option('--offline', 'do not test the connections; with --sample 0, nothing is contacted')
    .option('--deep', 'also check every page of all databases; takes as long as reading all data')
    .action((_: unknown, command: Command) => {
      const options: Options = command.optsWithGlobals()
      const isFolderNamed =
        command.getOptionValueSourceWithGlobals('data') === 'cli' || Boolean(process.env.TETRAD_DATA)
      return doctor(options, isFolderNamed)
    })
}

/** `isFolderNamed`: by --data or TETRAD_DATA. The folder of the configuration does not exist before the first start. */
async function doctor(options: Options, isFolderNamed: boolean): Promise<void> {
  const findings: DoctorFinding[] = []
  const { json: quiet = false } = options
  const add = (added: readonly DoctorFinding[]) => {
    findings.push(...added)
    if (!options.json) for (const finding of added) print(formatFinding(finding))
  }
  const config = await configOf(options).catch((error: unknown) => {
    add([failedCheck('configuration', error, `see ${docsPage('configuration')}`)])
    return undefined
  })
  if (config) {
    const { isFolderMissing, machineFindings, settingsFindings } = await import('#operations/machine.ts')
    add(settingsFindings(config.settings, config.configured))
    add(await machineFindings(dataDirOf(options), config.settings.store, isFolderNamed))
    if (!options.offline) {
      const { connectivityFindings } = await import('#operations/connectivity.ts')
      const { settings } = config
      add(await withActivity('Testing nodes and sources', () => connectivityFindings({ settings, clock }), { quiet }))
    }
    const hasStores = config.settings.store.state !== '' || !(await isFolderMissing(dataDirOf(options)))
    if (hasStores) {
      add(await withActivity('Checking the stored data', () => storeFindings(options), { quiet }))
      const checkPages = () => pageFindings(options, config)
      add(options.deep ? await withActivity('Checking every page', checkPages, { quiet }) : await checkPages())
    }
  }
  const count = (level: DoctorFinding['level']) => findings.filter((finding) => finding.level === level).length
  const healthy = count('fail') === 0
  if (options.json) printJson({ healthy, findings })
  else
    print(
      `\n${healthy ? paint('ok', 'Healthy') : paint('error', 'Not healthy')}: ${count('fail')} failed, ${counted(count('warn'), 'warning')}, ${count('ok')} ok.`,
    )
  if (!healthy) process.exitCode = 1
}

/** Runs the deep check, or reports when it last ran. */
async function pageFindings(options: Options, config: Config): Promise<readonly DoctorFinding[]> {
  const { deepFindings, lastDeepCheck, recordDeepCheck } = await import('#operations/deep-check.ts')
  const { settings, configured } = config
  const startedMs = clock.now()
  const { store } = settings
  const findings = options.deep ? await deepFindings({ dataDir: dataDirOf(options), store }) : []
  const isDamaged = findings.some(({ level }) => level === 'fail')
  try {
    return await withState(options, 'found', async (state) => {
      if (!options.deep) return [await lastDeepCheck(state, { store, nowMs: startedMs, isOwn: configured })]
      if (!isDamaged) await recordDeepCheck(state, startedMs)
      return findings
    })
  } catch {
    // A database that cannot be opened was reported before.
    return findings
  }
}

/** Checks that run in the process that has the stores open. Without a server, files that are missing are not created. */
async function storeFindings(options: Options): Promise<readonly DoctorFinding[]> {
  const { storeDiagnoses } = await import('#operations/doctor.ts')
  const { sample } = options
  try {
    const reply = await queryServer<readonly DoctorFinding[]>(options, 'doctor', { sample })
    if (reply) return reply.result
    const killed = await killedFindings(options)
    const missing = await missingFindings(options)
    if (missing.length > 0) return [...killed, ...missing]
    const stored = await withContext(options, (context) =>
      // Servers on other machines may use the same PostgreSQL database. A server that was killed should be running.
      storeDiagnoses(context, sample, context.settings.store.state !== '' || killed.length > 0, dataDirOf(options)),
    )
    return [...killed, ...stored]
  } catch (error) {
    return [failedCheck('stores', error, 'follow the message, or see the log of the server')]
  }
}

/** Otherwise, a check every night would not notice that the server crashed. */
async function killedFindings(options: Options): Promise<readonly DoctorFinding[]> {
  const [{ wasServerKilled }, { failFinding }] = await Promise.all([
    import('#runtime/control-socket.ts'),
    import('#operations/diagnosis.ts'),
  ])
  if (!(await wasServerKilled(dataDirOf(options)))) return []
  const message = 'the server on this data folder ended without stopping, and none is running'
  return [failFinding('server', message, 'start it again; its log, or that of the service manager, has the reason')]
}

/** A command such as `tetrad keys create` creates no duties. */
async function missingFindings(options: Options): Promise<readonly DoctorFinding[]> {
  const [{ settings }, { warnFinding }, { dutiesFile }] = await Promise.all([
    configOf(options),
    import('#operations/diagnosis.ts'),
    import('#storage/open.ts'),
  ])
  if (settings.store.state !== '' || existsSync(dutiesFile(dataDirOf(options)))) return []
  return [warnFinding('duties.sqlite', 'does not exist yet', 'start the server once')]
}

const failedCheck = (name: string, error: unknown, todo: string): DoctorFinding => ({
  name,
  level: 'fail',
  message: describeFailure(error).message,
  todo,
})

const levels = { ok: ['ok', 'ok  '], warn: ['warning', 'WARN'], fail: ['error', 'FAIL'] } as const

export function formatFinding(
  { name, level, message, todo }: DoctorFinding,
  stream: NodeJS.WriteStream = process.stdout,
): string {
  const [tone, label] = levels[level]
  const line = `${paint(tone, label, stream)}  ${name}: ${message}`
  return todo === undefined ? line : `${line}\n        → ${todo}`
}
